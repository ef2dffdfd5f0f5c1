// A node is killed while many clients follow their solves. The next one listens on the same port, and each client
// comes to the end of its run by itself, with the events of a run that nothing disturbed.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { RunEvent } from '@alx/protocol'
import { createAlxClient, type SolveStream } from '@parley/alx-client'
import { expect, test } from 'vitest'
import { alxProfile } from '../testing/alx.ts'
import { alxProcess, waitingTeam } from '../testing/alx-process.ts'
import { ground } from '../testing/ground.ts'

const BLOCK = {
  type: 'practice',
  tier: 'open',
  payload: { type: 'practice', rationale: 'Deploy the API at night.', contexts: ['api'], failureModes: [] },
} as const

const MOST = process.env.PARLEY_SOAK ? 40 : 8
/** A team on a git project, the same on a plain folder, and Knowledge Blocks without either. */
const CLIENTS = { engineering: MOST, office: MOST, handbook: MOST / 2 }
type Domain = keyof typeof CLIENTS
const DOMAINS = Object.keys(CLIENTS) as Domain[]
const ALL = MOST * 2.5

/** Entries of a run's record that no recovery repeats. */
const ONCE = ['human_injection', 'graph_created', 'task_created', 'task_completed', 'integration_completed']

interface Solved {
  readonly domain: Domain
  readonly events: RunEvent[]
  readonly response: SolveStream['response']
}

/** What an event says, without what is of its run alone. */
function said(event: RunEvent): string {
  const { seq, type } = event
  const ofStep = type === 'step.started' || type === 'step.completed'
  return ofStep ? `${seq} ${type} ${event.stepId} ${event.index}` : `${seq} ${type}`
}

test(`ALX-RUN-07 ${ALL} streamed solves whose node is killed all come to their end, with every event once`, async () => {
  const place = ground()
  const gate = join(place.home, 'go')
  const plain = join(place.home, 'plain')
  mkdirSync(plain)
  alxProfile(place, waitingTeam(gate), `    office: { team: team.yaml, project: ${plain} }\n`)
  const first = await alxProcess(place)
  const { secret: token } = await first.client.call('tokens', 'create', { user: 'ann' })
  const sdk = () => createAlxClient({ baseUrl: first.base, token, maxRetries: 20 })
  await sdk().registerKb({ envelope: { ...BLOCK, domain: 'handbook', sources: [] } })

  /** Follows its events by itself, as each program does. */
  const solve = (domain: Domain): Solved => {
    const events: RunEvent[] = []
    const stream = sdk().solveStream({ intent: { verb: 'deploy', target: 'api', domain } })
    const read = async () => {
      for await (const event of stream) events.push(event)
      return await stream.response
    }
    const response = read()
    // One that fails before all of them are awaited.
    response.catch(() => undefined)
    return { domain, events, response }
  }
  const many = (domain: Domain) => Array.from({ length: CLIENTS[domain] }, () => solve(domain))
  const working = [...many('engineering'), ...many('office')]
  const failed = Promise.all(working.map(({ response }) => response))
  const after = (type: string) => working.filter(({ events }) => events.some(event => event.type === type)).length
  const midway = expect.poll(() => after('step.completed'), { timeout: 60_000 }).toBeGreaterThan(MOST / 2)
  await Promise.race([midway, failed])
  // Some have no event yet, or not even an answer.
  const all = [...working, ...many('handbook')]
  await first.kill()
  expect(after('run.completed')).toBe(0)

  const second = await alxProcess(place)
  expect(second.base).toBe(first.base)
  writeFileSync(gate, '')
  const responses = await Promise.all(all.map(({ response }) => response))
  const calm = new Map(DOMAINS.map(domain => [domain, solve(domain)]))
  for (const each of calm.values()) await each.response
  const expected = (domain: Domain) => calm.get(domain)!.events.map(said)
  expect(expected('engineering')).toEqual(expected('office'))
  expect(DOMAINS.map(domain => expected(domain).length)).toEqual([8, 8, 2])
  for (const [at, { domain, events }] of all.entries()) {
    const { executionId, success } = responses[at]!
    expect(events.map(said), `client ${at}`).toEqual(expected(domain))
    expect(new Set(events.map(({ runId }) => runId))).toEqual(new Set([executionId]))
    expect(success).toBe(true)
  }

  // On record each run is there once, and has everything once that a run has once.
  const { runs } = await second.client.call('runs', 'list', { limit: 200 })
  const known = [...all, ...calm.values()].map(({ events }) => events[0]!.runId)
  expect(runs.map(({ run }) => run).toSorted()).toEqual(known.toSorted())
  expect(new Set(runs.map(({ state }) => state))).toEqual(new Set(['done']))
  const recorded = async ({ events }: Solved) => {
    const { entries } = await second.client.call('trail', 'query', { run: events[0]!.runId, limit: 200 })
    return ONCE.map(type => [type, entries.filter(({ event_type }) => event_type === type).length])
  }
  const usual = new Map(
    await Promise.all([...calm].map(async ([domain, each]) => [domain, await recorded(each)] as const)),
  )
  expect(Object.fromEntries(usual.get('office')!)).toMatchObject({ human_injection: 1, task_completed: 2 })
  for (const [at, each] of all.entries()) expect(await recorded(each), `client ${at}`).toEqual(usual.get(each.domain))
}, 120_000)
