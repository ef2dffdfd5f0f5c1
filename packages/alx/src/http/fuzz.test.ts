// Requests generated from the OpenAPI document of all routes, sound and spoiled, against a whole server: every answer
// is an envelope of the protocol, and the server stays sound (WG-02, WG-08 to -10, ALX-ERR-05, ALX-HTTP-06).
import { Agent } from 'node:http'
import { expect, onTestFinished, test } from 'vitest'
import { AlxFixture, candidate, INTENT, step, V } from '../testing/fixture.ts'
import { answerProblem, eventsProblem } from '../testing/fuzz/answer-check.ts'
import { type GeneratedRequest, generatedRequest } from '../testing/fuzz/generated-requests.ts'
import { type Ids, type Known, SECRET } from '../testing/fuzz/operations.ts'
import { type RawReply, send } from '../testing/fuzz/raw-client.ts'
import { factual, HASHES, K1, K3, K4 } from '../testing/known-blocks.ts'

const REQUESTS = process.env.PARLEY_SOAK ? 500_000 : 20_000
/** Of a machine that does other things, too. */
const TIMEOUT_MS = process.env.PARLEY_SOAK ? 6 * 3_600_000 : 240_000
const IN_FLIGHT = 8
/** Requests between two looks at how the server is. */
const STRETCH = 2000
/** Repeats one request: PARLEY_SEED=… */
const ONLY = process.env.PARLEY_SEED

async function openServer(): Promise<AlxFixture> {
  const f = await AlxFixture.open({
    teamOf: () => undefined,
    wrap: port => ({
      ...port,
      start(request) {
        if (request.intent.startsWith('break ')) throw new Error(`${process.cwd()}/secret.ts: ${SECRET}`)
        return port.start(request)
      },
    }),
    select({ intent: { verb } }) {
      if (verb === 'throw') throw new Error(`${process.cwd()}/secret.ts: ${SECRET}`)
      return verb === 'nothing' ? [] : [candidate(verb === 'doubt' ? 0.2 : 0.9)]
    },
    planOf({ intent: { verb } }) {
      if (verb === 'work') return { kind: 'steps', steps: [step('one'), step('two')] }
      if (verb === 'ask') return { kind: 'steps', steps: [step('one', { approve: true })] }
      return { kind: 'none', result: 'It is known.' }
    },
  })
  for (const envelope of [K1, K4, K3, factual('mine', { tier: 'restricted' })])
    expect((await f.post('/v1/kb', { envelope })).status).toBe(201)
  return f
}

async function idsOf(f: AlxFixture, as: { readonly as?: typeof V } = {}): Promise<Ids> {
  const runs: string[] = []
  const sessions: string[] = []
  for (const verb of ['deploy', 'work', 'nothing', 'ask']) {
    const { body } = await f.solve({ intent: { ...INTENT, verb } }, as)
    runs.push(body.executionId)
    sessions.push(body.execution.sessionId!)
  }
  const events = await f.get<{ events: readonly { approval?: { approvalId: string } }[] }>(
    `/v1/runs/${runs[3]}/events`,
    as,
  )
  const approval = events.body.events.at(-1)!.approval!.approvalId
  return { runs, sessions, approvals: [approval, 'gate_none'], blocks: [HASHES.K1, HASHES.K3, HASHES.K4] }
}

/** A run that waits for its approval, again, where the last one was decided. */
async function withApproval(f: AlxFixture, known: Known): Promise<Known> {
  const { body } = await f.get<{ execution?: { status: string } }>(`/v1/runs/${known.own.runs[3]}`)
  return body.execution?.status === 'awaiting_approval' ? known : { ...known, own: await idsOf(f) }
}

/** Whoever follows a run that waits reads what there is, and goes. */
function hasEnough({ operation, path }: GeneratedRequest, waiting: string): (text: string) => boolean {
  if (operation.name !== 'runEvents' || !path.includes(waiting)) return () => false
  return () => true
}

async function isSound(f: AlxFixture): Promise<void> {
  const { status, body } = await f.solve({ intent: { ...INTENT, verb: 'work' } })
  expect([status, body.success, body.steps.map(each => each.status)]).toEqual([200, true, ['completed', 'completed']])
  const events = await f.events(body.executionId)
  expect(eventsProblem(events)).toBeUndefined()
  expect(events.at(-1)!.type).toBe('run.completed')
  f.selections.length = 0
  f.logged.length = 0
}

const shown = (request: GeneratedRequest, { status, text }: Partial<RawReply> = {}) => {
  const { method, path, headers, body, faults, expected } = request
  const sent = body && (body.length > 2000 ? `${body.subarray(0, 2000)}… (${body.length} bytes)` : String(body))
  return `${method} ${path}\n${JSON.stringify(headers)}\n${sent ?? ''}\n${JSON.stringify({ faults, expected })}\n→ ${status} ${text?.slice(0, 2000)}`
}

test(`WG-08 ${REQUESTS} generated requests are all answered with envelopes, and the server stays sound`, {
  timeout: TIMEOUT_MS,
}, async () => {
  const f = await openServer()
  const agent = new Agent({ keepAlive: true, maxSockets: IN_FLIGHT })
  onTestFinished(() => agent.destroy())
  const port = Number(new URL(f.url).port)
  let known: Known = { own: await idsOf(f), foreign: await idsOf(f, { as: V }) }
  const seen = new Map<string, number>()
  /** The first request of each problem. */
  const problems = new Map<string, string>()

  const run = async (seed: number): Promise<void> => {
    const request = generatedRequest(seed, known)
    const enough = hasEnough(request, known.own.runs[3]!)
    const reply = await send({ agent, port, enough }, request).catch((cause: Error) => {
      throw new Error(`seed ${seed}: ${cause.message}\n${shown(request)}`, { cause })
    })
    const problem = answerProblem(request, reply)
    if (problem !== undefined && !problems.has(problem)) problems.set(problem, `seed ${seed}: ${shown(request, reply)}`)
    const code = /"code":"([A-Z_]+)"/.exec(reply.text)?.[1] ?? 'ok'
    const kind = `${request.operation.name} ${reply.status} ${code}`
    seen.set(kind, (seen.get(kind) ?? 0) + 1)
  }

  if (ONLY !== undefined) {
    await run(Number(ONLY))
    expect([...problems]).toEqual([])
    return
  }
  for (let next = 0; next < REQUESTS; ) {
    const until = Math.min(next + STRETCH, REQUESTS)
    const worker = async () => {
      while (next < until) await run(next++)
    }
    await Promise.all(Array.from({ length: IN_FLIGHT }, worker))
    if (problems.size > 0) expect.fail([...problems].map(each => each.join('\n')).join('\n\n'))
    await isSound(f)
    known = await withApproval(f, known)
  }
  if (process.env.PARLEY_SEEN)
    console.log(
      [...seen]
        .toSorted()
        .map(each => each.join(' '))
        .join('\n'),
    )
  // The requests reach every route's success and every check of the form.
  for (const name of [
    'solve',
    'run',
    'runEvents',
    'sessions',
    'session',
    'timeline',
    'reset',
    'kb',
    'lineage',
    'verifyKb',
  ])
    expect(seen.get(`${name} 200 ok`) ?? 0, name).toBeGreaterThan(REQUESTS / 1000)
})
