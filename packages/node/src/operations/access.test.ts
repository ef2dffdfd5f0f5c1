// Who may call what: the owner everything, the agent of a turn its own workspace, and whoever holds an old token
// nothing.
import { connect } from 'node:net'
import type { AgentVerbs } from '@parley/coordinator'
import { err, ok, ParleyError } from '@parley/core'
import { describe, expect, test } from 'vitest'
import { collected, refusal, solve } from '../testing/calls.ts'
import { startedNode } from '../testing/started.ts'

function verbsOf(): AgentVerbs {
  return {
    // What an agent says of itself must not become more than a turn's agent.
    principal: { id: 'writer#1', kind: 'user', scopes: ['owner'] },
    status: async () => {
      const work = {
        run: 'run_1',
        workspace: 'ws_1',
        task: 'one',
        title: 'One',
        kind: 'work',
        agent: 'writer#1',
      } as const
      const rest = { state: 'active', epoch: 1, unread: 0, checkpoints: 0, may_change: 'everything' } as const
      return ok({ ...work, ...rest, verbs: ['status', 'inbox'] })
    },
    inbox: async () => ok([{ id: 'e1', from: 'root', type: 'directive', priority: 'normal', text: 'Hi' }]),
    checkpoint: async intent => ok({ checkpoint: `cp ${intent}`, files: ['a'] }),
    block: async () => err(new ParleyError('invalid_state', 'The turn is over.')),
    ask: async () => ok([]),
    escalate: async () => ok(undefined),
    spend: async () =>
      ok({ used: { tokens: 0, usd: 0, seconds: 0 }, left: { tokens: null, usd: null, seconds: null } }),
    verdict: async () => ok(undefined),
    waiting: async function* () {
      yield []
    },
  }
}

describe('/workspaces, and who may call what', () => {
  test("a turn's token opens its own workspace", async () => {
    const { client, coordinator } = await startedNode()
    coordinator.turns.set('good', verbsOf())
    const inside = { authToken: 'good' }
    expect(await client.call('workspaces', 'status', {}, inside)).toMatchObject({ workspace: 'ws_1' })
    expect(await client.call('workspaces', 'inbox', {}, inside)).toMatchObject({ mail: [{ text: 'Hi' }] })
    const kept = await client.call('workspaces', 'checkpoint', { intent: 'half' }, inside)
    expect(kept).toMatchObject({ checkpoint: 'cp half' })
    expect((await refusal(client.call('workspaces', 'block', { reason: 'x' }, inside))).code).toBe('invalid_state')
  })

  test('an agent does nothing but that, whatever its link is', async () => {
    const { client, coordinator, node } = await startedNode()
    coordinator.turns.set('good', verbsOf())
    for (const token of ['good', 'stale']) {
      const options = { authToken: token }
      const calls = [
        client.call('node', 'status', {}, options),
        client.call('node', 'stop', {}, options),
        client.call('runs', 'list', {}, options),
        client.call('solve', 'start', { ...solve, agent: 'claude' }, options),
        client.call('trail', 'query', { run: 'last' }, options),
        client.call('gates', 'respond', { gate: 'g', decision: 'approve' }, options),
        client.call('config', 'show', {}, options),
        client.call('peers', 'list', {}, options),
        client.call('peers', 'unpin', { id: 'bob' }, options),
        collected(client.subscribe('runs', 'follow', { run: 'last' }, options)),
        collected(client.subscribe('link', 'ask', { peer: 'bob', prompt: 'x' }, options)),
      ]
      for (const call of calls) expect((await refusal(call)).code).toBe('FORBIDDEN')
    }
    expect(coordinator.solved).toEqual([])
    expect((await node.status()).runs.working).toBe(0)
  })

  test('a token of a turn that is over opens nothing, and above all not the owner’s doors', async () => {
    const { client } = await startedNode()
    const stale = await refusal(client.call('workspaces', 'status', {}, { authToken: 'stale' }))
    expect(stale.code).toBe('permission_denied')
    const owner = await refusal(client.call('workspaces', 'status', {}))
    expect(owner).toMatchObject({ code: 'no_workspace', message: expect.stringContaining('PARLEY_TOKEN_FILE') })
  })

  test('every operation demands a scope, says what it is for, and is discoverable by the owner', async () => {
    const { client } = await startedNode()
    await client.ready()
    const { operations } = (await client.link!.call('/services/list', {})) as {
      operations: { name: string; op_type: string }[]
    }
    const own = operations.filter(({ name }) => !name.startsWith('/services/'))
    const byService = Map.groupBy(own, ({ name }) => name.split('/')[1]!)
    const namesOf = (all: typeof own) => all.map(({ name }) => name.split('/')[2]).toSorted()
    expect(Object.fromEntries([...byService].map(([service, all]) => [service, namesOf(all).join(' ')]))).toEqual({
      agents: 'list',
      budget: 'today',
      budgets: 'list raise',
      config: 'show',
      escalations: 'list respond',
      gates: 'find list passphrase respond watch',
      highway: 'inject',
      knowledge: 'deprecate export import lineage list search share show slash trust verify',
      link: 'ask call cancel identity ping rotate-key',
      node: 'prove status stop',
      peers: 'accept allow dismiss list pending pin unpin',
      results: 'apply clean show undo',
      runs: 'abort follow list prompts show',
      sessions: 'list show',
      solve: 'start',
      tasks: 'follow list',
      trail: 'compact export heads import keys pack proof query restore rotate-key snapshot tiers verify watch',
      tokens: 'create list revoke',
      users: 'change list',
      workspaces:
        'ask block checkpoint escalate inbox left migrate resume salvage spend status suspend verdict waiting',
    })
    for (const { name } of own) {
      const [, service, op] = name.split('/')
      const spec = await client.describe(service!, op!)
      const { requiredScopes = [], requiredScopesAny = [] } = spec.accessControl
      expect([...requiredScopes, ...requiredScopesAny].length, name).toBeGreaterThan(0)
      expect(spec.description, name).toBeTruthy()
    }
  })

  test('garbage on the socket harms nobody else', async () => {
    const { client, place } = await startedNode()
    const socket = connect(place.config().paths.socket)
    const over = new Promise(resolve => socket.once('close', resolve))
    socket.on('error', () => undefined)
    socket.end(Buffer.from('\0\0\0\u000d{"type":"no"}garbage'))
    socket.resume()
    await over
    expect((await client.call('node', 'status', {})).pid).toBe(process.pid)
  })
})
