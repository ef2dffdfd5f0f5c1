// The operations over a real socket: what they answer, and what they refuse and with which code.
import { hash } from 'node:crypto'
import { chmodSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { callLimits } from '@parley/call'
import type { RunView } from '@parley/coordinator'
import type { RunId } from '@parley/core'
import { describe, expect, test } from 'vitest'
import { nodeLimits } from '../limits.ts'
import { collected, refusal, solve } from '../testing/calls.ts'
import { ground } from '../testing/ground.ts'
import { type Started, startedNode } from '../testing/started.ts'

const TEAM = `version: 1
name: checkers
agents:
  a: { command: [node, a.mjs] }
  b: { command: [node, b.mjs] }
plan:
  - { id: one, agent: a, prompt: Do it. }
`

describe('/node and /config', () => {
  test('status says what runs here', async () => {
    const { client, place } = await startedNode()
    expect(await client.call('node', 'status', {})).toMatchObject({
      profile: 'default',
      folder: place.path('default'),
      pid: process.pid,
      version: '0.1.0',
      started_by: 'up',
      runs: { working: 0, waiting: 0, for_peers: 0 },
      clients: 1,
      idle_timeout_ms: 0,
      damage: [],
    })
  })

  test('stop answers first and stops then', async () => {
    const { client, node } = await startedNode()
    expect(await client.call('node', 'stop', { reason: 'enough' })).toEqual({ pid: process.pid })
    expect(await node.stopped).toEqual({ reason: 'enough', hanging: [] })
  })

  test('the configuration is shown with where it came from', async () => {
    const place = ground()
    const file = place.write('default/config.yaml', 'turns: 3\n')
    const { client } = await startedNode({ place, flags: { 'log-level': 'debug' } })
    const { values } = await client.call('config', 'show', {})
    expect(values).toContainEqual({ key: 'turns', value: 3, from: `file ${file}:1` })
    expect(values).toContainEqual({ key: 'log.level', value: 'debug', from: 'flag --log-level' })
  })
})

describe('/solve/start', () => {
  test('with a team file starts a run of that team, for the owner, and passes warnings on', async () => {
    const { client, coordinator } = await startedNode()
    const started = await client.call('solve', 'start', { ...solve, team: { text: TEAM, file: '/teams/t.yaml' } })
    expect(started.run).toMatch(/^run_/)
    expect(started.warnings).toEqual([expect.stringMatching(/^line 5: .*b/)])
    const solo = { ...solve, agent: 'b', team: { text: TEAM, file: '/teams/t.yaml' } }
    expect((await client.call('solve', 'start', solo)).warnings).toEqual([])
    expect(coordinator.solved[1]?.team).toMatchObject({ name: 'checkers', plan: [], agents: { b: { slots: 4 } } })
    await expect(client.call('solve', 'start', { ...solo, agent: 'c' })).rejects.toMatchObject({
      code: 'unknown_agent',
    })
    const more = `${TEAM.replace('node, a.mjs', 'node, ~/a.mjs')}limits: { concurrency: 60 }\n`
    const { warnings } = await client.call('solve', 'start', { ...solve, team: { text: more, file: '/teams/t.yaml' } })
    expect(warnings.slice(1)).toEqual([
      expect.stringMatching(/^concurrency is 60, and this node takes \d+ turns at once/),
      "'~/a.mjs' is taken as it is: no shell expands ~ in a command.",
    ])
    expect(coordinator.solved[0]).toMatchObject({
      intent: 'Do it.',
      project: '/project',
      origin: 'cli',
      approved: true,
      team: { name: 'checkers', base: '/teams' },
      principal: { kind: 'user', scopes: ['owner'] },
    })
  })

  test('a team file with mistakes is refused with the place of each', async () => {
    const { client } = await startedNode()
    const text = TEAM.replace('agent: a', 'agent: c')
    const error = await refusal(client.call('solve', 'start', { ...solve, team: { text, file: '/t.yaml' } }))
    const problems = [{ code: 'unknown_agent', line: 7, column: expect.any(Number) }]
    expect(error).toMatchObject({ code: 'invalid_team', details: { problems } })
  })

  test('with a name takes the configured agent, then the preset of that name', async () => {
    const place = ground()
    place.write('default/config.yaml', 'agents:\n  mine: { command: [./mine.sh] }\n')
    chmodSync(place.write('default/mine.sh', '#!/bin/sh\n'), 0o755)
    const { client, coordinator } = await startedNode({ place })
    await client.call('solve', 'start', { ...solve, agent: 'mine' })
    await client.call('solve', 'start', { ...solve, agent: 'codex' })
    expect(coordinator.solved.map(({ team }) => team)).toMatchObject([
      { name: 'mine', agents: { mine: { command: ['./mine.sh'] } }, base: place.path('default') },
      { name: 'codex', agents: { codex: { preset: 'codex' } } },
    ])
    const meant = { code: 'unknown_agent', message: expect.stringContaining('mine') }
    expect(await refusal(client.call('solve', 'start', { ...solve, agent: 'mime' }))).toMatchObject(meant)
  })

  test('with neither takes the default agent, or the only preset that is there', async () => {
    const chosen = await startedNode({ flags: { 'default-agent': 'qwen' } })
    await chosen.client.call('solve', 'start', solve)
    expect(chosen.coordinator.solved[0]?.team.name).toBe('qwen')
    const only = await startedNode({ presets: { gemini: '1.0.0' } })
    await only.client.call('solve', 'start', solve)
    expect(only.coordinator.solved[0]?.team.name).toBe('gemini')
  })

  test('says what to do where it cannot tell which agent is meant', async () => {
    const none = await startedNode({ presets: {} })
    const message = expect.stringMatching(/none of claude.*default_agent/)
    expect(await refusal(none.client.call('solve', 'start', solve))).toMatchObject({ code: 'no_agent', message })
    const several = await startedNode({ presets: { claude: '2.1.0', codex: '0.50.0' } })
    const details = { found: ['claude', 'codex'] }
    expect(await refusal(several.client.call('solve', 'start', solve))).toMatchObject({ code: 'no_agent', details })
  })

  test('refuses what makes no sense, and what the coordinator refuses, as it says so', async () => {
    const { client } = await startedNode()
    const refused = (more: object) => refusal(client.call('solve', 'start', { ...solve, agent: 'claude', ...more }))
    expect((await refused({ project: 'here' })).code).toBe('invalid_argument')
    expect((await refused({ intent: 3 })).code).toBe('INVALID_INPUT')
    const overloaded = { code: 'overloaded', retryable: true, details: { most: 1 } }
    expect(await refused({ intent: 'too much' })).toMatchObject(overloaded)
  })
})

async function withRun(
  options?: Parameters<typeof startedNode>[0],
  by: object = { agent: 'claude' },
): Promise<Started & { run: RunId }> {
  const started = await startedNode(options)
  const { run } = await started.client.call('solve', 'start', { ...solve, ...by })
  return { ...started, run: run as RunId }
}

describe('/runs, /tasks and /gates', () => {
  test('runs are listed, shown and followed by id, beginning and `last`', async () => {
    const { client, run } = await withRun()
    expect((await client.call('runs', 'list', {})).runs.map(each => each.run)).toEqual([run])
    expect((await client.call('runs', 'list', { states: ['done'] })).runs).toEqual([])
    for (const text of [run, run.slice(0, 12), 'last'])
      expect((await client.call('runs', 'show', { run: text })).run).toBe(run)
    const views = await collected(client.subscribe('runs', 'follow', { run: 'last' }))
    expect(views.map(({ state }) => state)).toEqual(['working', 'done'])
    expect(await client.call('tasks', 'list', { run })).toEqual({ run, tasks: [], cursor: 2 })
  })

  test('a run that is not there is refused, also where values would stream', async () => {
    const { client } = await startedNode()
    expect((await refusal(client.call('runs', 'show', { run: 'run_x' }))).code).toBe('not_found')
    expect((await refusal(collected(client.subscribe('runs', 'follow', { run: 'run_x' })))).code).toBe('not_found')
  })

  test('what ends a stream keeps its code', async () => {
    const { client } = await startedNode()
    const { run } = await client.call('solve', 'start', { ...solve, intent: 'lose me', agent: 'claude' })
    const lost = { code: 'unavailable', retryable: true }
    expect(await refusal(collected(client.subscribe('runs', 'follow', { run })))).toMatchObject(lost)
  })

  test('several runs with the same beginning are told apart', async () => {
    const { client } = await withRun()
    await client.call('solve', 'start', { ...solve, agent: 'claude' })
    expect((await refusal(client.call('runs', 'show', { run: 'run_' }))).code).toBe('ambiguous')
  })

  test('a run is aborted with a reason, and so is the work on one task', async () => {
    const { client, coordinator, run } = await withRun()
    expect(await client.call('runs', 'abort', { run: 'last', reason: 'too slow' })).toEqual({ run })
    await client.call('runs', 'abort', { run, task: 'docs' })
    expect(coordinator.aborted).toEqual([`${run}: too slow`, `${run} docs: no reason given`])
  })
})

const gate: RunView['gates'][number] = {
  id: 'gate_1',
  run: 'run_1',
  kind: 'gate',
  type: 'task_approval',
  question: 'May one do it?',
  addressee: 'somebody',
  waits_for: 'person',
  since: '2026-01-01T00:00:00.000000Z',
  changes: ['name'],
  subject: { name: 'it' },
}
const question: typeof gate = { ...gate, id: 'sig_1', kind: 'question', type: 'escalation', changes: [] }

describe('/gates and /escalations', () => {
  test('are listed, of one run too, and watched', async () => {
    const { client, coordinator, run } = await withRun()
    const other = { ...gate, id: 'gate_2', run }
    coordinator.openGates = [gate, other, question]
    expect(await client.call('gates', 'list', {})).toEqual({ gates: [gate, other, question] })
    expect(await client.call('gates', 'list', { run: 'last' })).toEqual({ gates: [other] })
    expect(await client.call('escalations', 'list', {})).toEqual({ gates: [question] })
    expect(await client.call('gates', 'find', { kind: 'gate' })).toEqual({ gates: [gate, other, question] })
    const lists: unknown[] = []
    for await (const { gates } of client.subscribe('gates', 'watch', {})) lists.push(gates)
    expect(lists).toEqual([[gate, other, question], []])
  })

  test('are answered under the name of whoever called', async () => {
    const { client, coordinator } = await startedNode()
    coordinator.openGates = [gate]
    const principal = { kind: 'user', scopes: ['owner'] }
    const answered = await client.call('gates', 'respond', { gate: 'gate_1', decision: 'approve' })
    expect(answered).toEqual({ run: 'run_1', gates: ['gate_1'] })
    const changes = { name: 'that' }
    await client.call('gates', 'respond', { gate: 'gate_1', decision: 'modify', changes, reason: 'better' })
    await client.call('escalations', 'respond', { question: 'sig_1', answer: 'envelope', text: 'Yes.' })
    await client.call('escalations', 'respond', { question: 'sig_1', answer: 'delegate' })
    expect(coordinator.answers).toMatchObject([
      { decision: 'approve', principal },
      { decision: 'modify', changes, reason: 'better', principal },
      { question: 'sig_1', answer: 'envelope', text: 'Yes.', principal },
      { question: 'sig_1', answer: 'delegate', principal },
    ])
  })

  test.each([
    ['gates', { gate: 'gate_2', decision: 'reject' }, 'invalid_state'],
    ['gates', { gate: 'gate_1', decision: 'modify' }, 'invalid_argument'],
    ['gates', { gate: 'gate_1', decision: 'approve', changes: { name: 'x' } }, 'invalid_argument'],
    ['escalations', { question: 'sig_1', answer: 'envelope' }, 'invalid_argument'],
  ] as const)('%s: %j is refused with %s', async (service, input, code) => {
    const { client, coordinator } = await startedNode()
    coordinator.openGates = [gate]
    expect((await refusal(client.call(service, 'respond', input as never))).code).toBe(code)
    expect(coordinator.answers).toEqual([])
  })
})

describe('what people do to runs at work', () => {
  test('reaches the coordinator with who did it', async () => {
    const { client, coordinator, run } = await withRun()
    await client.call('highway', 'inject', { run, to: 'docs', text: 'Hurry.', priority: 'urgent' })
    await client.call('workspaces', 'suspend', { run, task: 'docs', reason: 'lunch' })
    await client.call('workspaces', 'resume', { run })
    await client.call('budgets', 'raise', { run, task: 'docs', dimension: 'token_limit', limit: 5 })
    const principal = { kind: 'user' }
    expect(coordinator.acts).toMatchObject([
      { act: 'inject', run, to: 'docs', text: 'Hurry.', priority: 'urgent', principal },
      { act: 'suspend', run, task: 'docs', reason: 'lunch', principal },
      { act: 'resume', run, principal },
      { act: 'raise', run, task: 'docs', dimension: 'token_limit', limit: 5, principal },
    ])
    expect(await client.call('budgets', 'list', { run })).toMatchObject({ budgets: [{ used: 81 }] })
  })
})

describe('/users', () => {
  test('whoever owns the profile is known from the start, and users are changed', async () => {
    const { client, coordinator } = await startedNode()
    const { users } = await client.call('users', 'list', {})
    expect(users).toHaveLength(1)
    const { user } = users[0]!
    await client.call('users', 'change', { user, act: 'suspend', reason: 'holiday' })
    await client.call('users', 'change', { user, act: 'grant', capability: 'abort_any' })
    expect(coordinator.acts).toMatchObject([
      { user, act: 'suspend', reason: 'holiday' },
      { user, act: 'grant', capability: 'abort_any' },
    ])
    const wrong = [
      { user, act: 'grant' },
      { user, act: 'resume', capability: 'abort_any' },
    ] as const
    for (const input of wrong)
      expect((await refusal(client.call('users', 'change', input))).code).toBe('invalid_argument')
  })
})

describe('/trail', () => {
  test('is queried by filters and in pages', async () => {
    const { client, run } = await withRun()
    const first = await client.call('trail', 'query', { run: 'last', limit: 1 })
    expect(first).toMatchObject({ run, cursor: 1, more: true })
    const rest = await client.call('trail', 'query', { run, after: first.cursor })
    expect(rest).toMatchObject({ cursor: 2, more: false })
    expect(rest.entries[0]).toMatchObject({ seq: 2, event_type: 'workspace_created' })
    const none = await client.call('trail', 'query', { run, event_type: 'workspace_state_changed' })
    expect(none.entries).toEqual([])
    const wrong = client.call('trail', 'query', { run, from: 'yesterday' })
    expect((await refusal(wrong)).code).toBe('invalid_query')
  })

  test('a type that there is not is refused by query and watch, not answered with nothing', async () => {
    const { client, run } = await withRun()
    const filter = { run, event_type: ['workspace_created', 'workspace_creatd'] }
    const watch = async () => {
      for await (const _ of client.subscribe('trail', 'watch', filter)) break
    }
    const meant = { code: 'invalid_query', message: expect.stringContaining("Did you mean 'workspace_created'?") }
    for (const call of [client.call('trail', 'query', filter), watch()])
      expect(await refusal(call)).toMatchObject(meant)
  })

  test('is watched from a cursor on, as entries come', async () => {
    const { client, coordinator, run } = await withRun()
    const { script } = coordinator.runsById.get(run)!
    const seen: number[] = []
    for await (const page of client.subscribe('trail', 'watch', { run, after: 1 })) {
      seen.push(...page.entries.map(({ seq }) => seq))
      expect(page.cursor).toBe(seen.at(-1))
      if (seen.length === 1) await script.workspace()
      if (seen.length === 2) break
    }
    expect(seen).toEqual([2, 3])
  })

  test('a page never is larger than a frame allows', async () => {
    const { client, coordinator, run } = await withRun()
    const { script } = coordinator.runsById.get(run)!
    const worker = await script.workspace()
    const artifact_ids = Array.from({ length: 3000 }, (_, index) => `artifact_${index}_${'x'.repeat(48)}`)
    const count = Math.ceil(callLimits.frameBytes / 4 / JSON.stringify(artifact_ids).length) + 2
    for (let number = 0; number < count; number++) await script.checkpoint(worker, { artifact_ids })
    const page = await client.call('trail', 'query', { run, after: 3 })
    expect(page.more).toBe(true)
    expect(page.entries.length).toBeLessThan(count)
    expect(JSON.stringify(page).length).toBeLessThan(callLimits.frameBytes)
    let watched = 0
    for await (const part of client.subscribe('trail', 'watch', { run, after: 3 })) {
      watched += part.entries.length
      if (watched === count) break
    }
  })

  test('verifies one run or all, also against a head that somebody kept', async () => {
    const { client, run } = await withRun()
    const one = await client.call('trail', 'verify', { run })
    expect(one).toMatchObject({ sound: true, runs: [{ run, entries: 2, findings: [] }] })
    const all = await client.call('trail', 'verify', {})
    expect(all.runs.map(each => each.run)).toEqual([run])
    const heads = (await collected(client.subscribe('trail', 'heads', {}))).flatMap(page => page.heads)
    expect(heads).toEqual([{ run, ...one.runs[0]!.head }])
    expect(await client.call('trail', 'verify', { expect: heads })).toMatchObject({ sound: true })
    const head = (of: string, seq: number) => [{ run: of, seq, hash: '0'.repeat(64) }]
    const found = (seq: number, damage: string) => ({ sound: false, runs: [{ findings: [{ seq, damage }] }] })
    for (const input of [{ expect: head(run, 2) }, { run, expect: head(run, 2) }])
      expect(await client.call('trail', 'verify', input)).toMatchObject(found(2, 'rolled_back'))
    const lost = { run, expect: head(run, 9) }
    expect(await client.call('trail', 'verify', lost)).toMatchObject(found(3, 'truncated'))
    const gone = head('run_gone', 1)
    expect(await client.call('trail', 'verify', { expect: gone })).toMatchObject({ sound: false })
    expect((await refusal(client.call('trail', 'verify', { run, expect: gone }))).code).toBe('invalid_argument')
  })

  test('a run goes as one file to another profile, and is there what it was', async () => {
    const { client, run, coordinator } = await withRun()
    const other = await startedNode()
    const pieces = await collected(client.subscribe('trail', 'pack', { run }))
    const file = join(other.place.home, 'run.parley')
    writeFileSync(file, Buffer.concat(pieces.map(({ data }) => Buffer.from(data, 'base64'))))
    const { keys } = await client.call('trail', 'keys', {})
    const refusedWith = async (input: { file: string; keys?: string[] }) =>
      (await refusal(other.client.call('trail', 'import', input))).code
    expect(await refusedWith({ file })).toBe('export_untrusted')
    expect(await refusedWith({ file: 'run.parley' })).toBe('invalid_argument')
    expect(await refusedWith({ file: `${file}.gone` })).toBe('file_not_found')
    expect(await refusedWith({ file, keys: ['x'.repeat(44)] })).toBe('invalid_argument')
    const given = { file, keys: [keys[0]!.key] }
    const imported = await other.client.call('trail', 'import', given)
    expect(imported).toMatchObject({ run, entries: 2, already: false, from: keys[0]!.fingerprint })
    expect(await other.client.call('trail', 'import', given)).toMatchObject({ already: true })
    const verified = await other.client.call('trail', 'verify', {})
    expect(verified).toMatchObject({ sound: true, runs: [{ run, entries: 2 }] })
    const { entries } = await other.client.call('trail', 'query', { run })
    expect(entries).toEqual((await client.call('trail', 'query', { run })).entries)
    await coordinator.runsById.get(run)!.script.workspace()
    const later = await collected(client.subscribe('trail', 'pack', { run, up_to: 3, content: 'none' }))
    writeFileSync(`${file}.3`, Buffer.concat(later.map(({ data }) => Buffer.from(data, 'base64'))))
    expect(await refusedWith({ ...given, file: `${file}.3` })).toBe('run_exists')
  })

  test('has its keys, and gets a new one while it goes on', async () => {
    const { client, run, coordinator } = await withRun()
    const before = await client.call('trail', 'keys', {})
    expect(before.keys).toMatchObject([{ until: null, endorsed_by: null }])
    const rotated = await client.call('trail', 'rotate-key', {})
    const [old] = before.keys
    expect(rotated).toMatchObject({
      old: { key: old!.key, until: expect.any(String) },
      new: { until: null, endorsed_by: old!.key },
      recorded: true,
    })
    expect(coordinator.methods.at(-1)).toBe(`key_rotation ${old!.fingerprint} ${rotated.new.fingerprint}`)
    await coordinator.runsById.get(run)!.script.workspace()
    const { entries } = await client.call('trail', 'query', { run })
    expect(entries.map(({ integrity }) => integrity.signer)).toEqual([old!.key, old!.key, rotated.new.key])
    expect(await client.call('trail', 'verify', {})).toMatchObject({ sound: true })
    expect((await client.call('trail', 'keys', {})).keys.map(({ key }) => key)).toEqual([old!.key, rotated.new.key])
  })

  test('is exported as lines that verify by themselves', async () => {
    const { client, coordinator, run } = await withRun()
    const { script } = coordinator.runsById.get(run)!
    for (let number = 0; number < nodeLimits.pageEntries + 10; number++) await script.workspace()
    const pages = await collected(client.subscribe('trail', 'export', { run }))
    const [first, ...lines] = pages.flatMap(page => page.lines)
    const header = JSON.parse(first!) as { public_key: string; head: { hash: string } }
    const head = { seq: lines.length, signature: expect.stringMatching(/^[0-9a-f]{128}$/) }
    expect(header).toMatchObject({ run, count: lines.length, head })
    expect(header.public_key).toHaveLength(44)
    let previous: string | null = null
    for (const line of lines) {
      expect((JSON.parse(line) as { prev_hash: string | null }).prev_hash).toBe(previous)
      previous = hash('sha256', line, 'hex')
    }
    expect(previous).toBe(header.head.hash)
  })
})

describe('/agents/list', () => {
  test('has configured agents and presets, with what is there and what they need', async () => {
    const place = ground()
    const own = ['here: { command: [node, x] }', 'gone: { command: [no-such-program] }', 'fast: { preset: claude }']
    place.write('default/config.yaml', `agents:\n${own.map(each => `  ${each}\n`).join('')}`)
    const { client } = await startedNode({ place, presets: { claude: '2.1.0' } })
    const { agents } = await client.call('agents', 'list', {})
    const needs = { hosts: expect.any(Array), variables: expect.arrayContaining(['OPENAI_API_KEY']) }
    expect(Object.fromEntries(agents.map(agent => [agent.name, agent]))).toMatchObject({
      here: { source: 'configured', program: 'node', found: true, default: false },
      gone: { found: false },
      fast: { source: 'configured', preset: 'claude', found: true, version: '2.1.0' },
      claude: { source: 'preset', found: true, version: '2.1.0', default: true },
      codex: { found: false, needs },
    })
  })
})

describe('work that changes hands', () => {
  const withTeam = () => withRun(undefined, { team: { text: TEAM, file: '/teams/parley.yaml' } })

  test('is moved to an agent of the team, or to one of the node whose program is there', async () => {
    const { client, coordinator, run, place } = await withTeam()
    const moved = await client.call('workspaces', 'migrate', { run: 'last', task: 'one', to: 'own' })
    expect(moved).toEqual({ run, workspace: 'ws_1', from: 'writer#1', to: 'own#1' })
    expect(coordinator.acts).toMatchObject([
      { act: 'migrate', task: 'one', to: 'own', reason: 'no reason given', principal: { kind: 'user' } },
    ])
    expect(coordinator.acts[0]).not.toHaveProperty('agent')
    await client.call('workspaces', 'migrate', { run, task: 'one', to: 'qwen' })
    expect(coordinator.acts[1]).toMatchObject({ to: 'qwen', agent: { preset: 'qwen' } })
    rmSync(join(place.home, 'programs', 'qwen'))
    const absent = client.call('workspaces', 'migrate', { run, task: 'one', to: 'qwen' })
    expect((await refusal(absent)).code).toBe('program_missing')
    expect(coordinator.acts).toHaveLength(2)
  })

  test('has time to finish, within a day', async () => {
    const { client, coordinator, run } = await withTeam()
    await client.call('runs', 'abort', { run, task: 'one', grace: 1000 })
    expect(coordinator.acts).toEqual([{ act: 'wind down', run, task: 'one', grace: 1000 }])
    const forever = client.call('runs', 'abort', { run, grace: nodeLimits.graceMs + 1 })
    expect((await refusal(forever)).code).toBe('INVALID_INPUT')
  })

  test('is looked at and saved when it has failed', async () => {
    const { client, coordinator, run } = await withTeam()
    const left = { task: 'a', checkpoint: 'cp_1' }
    expect(await client.call('workspaces', 'left', { run, task: 'a' })).toMatchObject({ run, left })
    expect((await refusal(client.call('workspaces', 'left', { run, task: 'b' }))).code).toBe('nothing_to_salvage')
    const judged = { run, task: 'a', take: false, checkpoint: 'cp_1', reason: 'No use' }
    expect(await client.call('workspaces', 'salvage', judged)).toMatchObject({ salvage: { state: 'discarded' } })
    expect(coordinator.acts.at(-1)).toMatchObject({ act: 'salvage', take: false, reason: 'No use' })
    expect((await refusal(client.call('trail', 'proof', { run, entry: 7 }))).code).toBe('not_found')
  })

  test('is judged with the passphrase where answers need one', async () => {
    const { client, coordinator, run } = await withTeam()
    const passphrase = 'correct horse battery'
    const judged = { run, task: 'a', take: true, checkpoint: 'cp_1' }
    await client.call('gates', 'passphrase', { passphrase })
    expect((await refusal(client.call('workspaces', 'salvage', judged))).code).toBe('passphrase_required')
    expect(coordinator.acts).toEqual([])
    await client.call('workspaces', 'salvage', { ...judged, passphrase })
    expect(coordinator.acts).toMatchObject([{ act: 'salvage', take: true }])
  })
})
