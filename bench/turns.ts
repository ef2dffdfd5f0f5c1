// bench/turns: thirty agents that are real processes, each waiting for a message. How long it takes from a message's
// commit until it is in the inbox, and until the turn that it starts begins; the start of the process is apart. Beside
// it, what a turn costs more than the same command started by hand. npm run bench -- turns [--agents N] [--rounds N]
// [--short]
import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { commandKind } from '@parley/agents'
import { Coordinator, isOver, type RunView, teamReader } from '@parley/coordinator'
import { type AgentAdapter, parseTimestamp, type RunId, SystemClock, unwrap } from '@parley/core'
import { openTrail } from '@parley/trail'
import { machine, median, table } from './trail/measure.ts'

const { values } = parseArgs({
  options: { agents: { type: 'string' }, rounds: { type: 'string' }, short: { type: 'boolean', default: false } },
})
const AGENTS = Number(values.agents ?? (values.short ? 2 : 30))
const ROUNDS = Number(values.rounds ?? (values.short ? 2 : 20))
/** Says that it works, and waits for the next message. */
const COMMAND = ['sh', '-c', 'echo working; exit 75'] as const

const clock = new SystemClock()
const owner = { id: 'bench', kind: 'user', scopes: ['owner'] } as const

interface Turn {
  readonly began: number
  printed: number
  ended: number
}

/** The newest turn of each agent. */
const turns = new Map<string, Turn>()

function timed(adapter: AgentAdapter): AgentAdapter {
  return {
    name: adapter.name,
    kind: adapter.kind,
    reach: adapter.reach,
    async takeTurn(input, emit) {
      const turn: Turn = { began: clock.now(), printed: 0, ended: 0 }
      turns.set(input.agent, turn)
      const result = await adapter.takeTurn(input, event => {
        turn.printed ||= clock.now()
        emit(event)
      })
      turn.ended = clock.now()
      return result
    },
    close: () => adapter.close(),
  }
}

const folder = mkdtempSync(join(tmpdir(), 'parley-bench-turns-'))
const project = join(folder, 'project')
mkdirSync(project)
const git = (...args: string[]) =>
  execFileSync('git', ['-c', 'user.name=Bench', '-c', 'user.email=bench@localhost', ...args], {
    cwd: project,
  })
git('init', '--quiet')
writeFileSync(join(project, 'README.md'), 'A project.\n')
git('add', '-A')
git('commit', '--quiet', '-m', 'first')

const trail = await openTrail(join(folder, 'profile'))
const coordinator = await Coordinator.open({
  trail,
  clock,
  profile: join(folder, 'profile'),
  secret: Buffer.alloc(32, 1),
  turns: AGENTS,
  adapter: ({ name, agent }) => timed(commandKind.adapter(name, agent, { clock, environment: process.env })),
})

const team = unwrap(
  teamReader([commandKind]).read(`
version: 1
name: thirty
limits: { concurrency: ${AGENTS} }
agents:
  waiter: { command: ${JSON.stringify(COMMAND)}, prompt: none, slots: ${AGENTS} }
plan:
${Array.from({ length: AGENTS }, (_, index) => `  - { id: task-${index}, agent: waiter, prompt: Wait. }`).join('\n')}
`),
)
// Nothing else keeps this process alive while all agents wait.
const alive = setInterval(() => undefined, 1000)
const request = { intent: 'Wait.', principal: owner, origin: 'bench' }
const { run } = unwrap(await coordinator.start(request, { project, team, approved: true }))

/** An agent that is gone would be waited for without end. */
function requireWaiters({ state, tasks }: RunView): void {
  const lost = tasks.find(task => task.state === 'failed' || task.state === 'cancelled')
  if (lost || isOver(state)) throw new Error(`an agent waits no more: ${JSON.stringify(lost?.steps.at(-1) ?? state)}`)
}

/** Until so many turns have been taken since the last look, and every agent waits again. */
async function allWait(taken: number): Promise<void> {
  const done = () => turns.size >= taken && [...turns.values()].every(({ ended }) => ended > 0)
  for (;;) {
    for await (const view of coordinator.views.follow(run)) {
      requireWaiters(view)
      if (done() && view.gates.length === AGENTS) break
    }
    const view = unwrap(await coordinator.views.view(run))
    const blocked = view.tasks.every(({ state }) => state === 'blocked')
    // The view may be behind the turn that it is about to show.
    if (done() && blocked && view.usage.turns >= expected) return
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}

let expected = AGENTS

/** Milliseconds from each message's stamp, which is before its commit, until it lay in the inbox. */
async function inboxTimes(
  run: RunId,
  after: number,
): Promise<{ times: number[]; created: Map<string, number>; cursor: number }> {
  const created = new Map<string, number>()
  const times: number[] = []
  let cursor = after
  for (;;) {
    const page = unwrap(await trail.run(run).query({ after: cursor, limit: 256 }))
    for (const { event_type, body, timestamp } of page.entries) {
      const { envelope_id: id, to } = body as { envelope_id?: string; to?: string }
      const at = parseTimestamp(timestamp)!
      if (event_type === 'envelope_created') created.set(id!, at)
      if (event_type === 'envelope_delivered' && created.has(id!)) {
        times.push((at - created.get(id!)!) / 1000)
        created.set(to!, created.get(id!)!)
      }
    }
    cursor = page.cursor
    if (!page.more) return { times, created, cursor }
  }
}

const share = (sorted: readonly number[], part: number) =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))]!
const row = (name: string, times: readonly number[]) => {
  const sorted = times.toSorted((one, other) => one - other)
  return [name, ...[0.5, 0.99, 1].map(part => share(sorted, part).toFixed(1))]
}

async function measure(spread: number): Promise<string[][]> {
  const inbox: number[] = []
  const start: number[] = []
  const processes: number[] = []
  for (let round = 0; round <= ROUNDS; round++) {
    const { cursor } = unwrap(await coordinator.views.view(run))
    turns.clear()
    const gates = await coordinator.gates.list()
    expected += gates.length
    await Promise.all(
      gates.map(async ({ id }, index) => {
        if (spread > 0) await new Promise(resolve => setTimeout(resolve, (index * spread) / AGENTS))
        unwrap(await coordinator.gates.reply(id, { answer: 'envelope', text: 'Go on.', principal: owner }))
      }),
    )
    await allWait(AGENTS)
    if (round === 0) continue
    const seen = await inboxTimes(run, cursor)
    inbox.push(...seen.times)
    const view = unwrap(await coordinator.views.view(run))
    for (const { workspace } of view.tasks) {
      const turn = [...turns.entries()].find(([agent]) => agentOf.get(workspace!) === agent)?.[1]
      const sent = seen.created.get(workspace!)
      if (!turn || sent === undefined) continue
      start.push((turn.began - sent) / 1000)
      processes.push((turn.printed - turn.began) / 1000)
    }
  }
  return [
    row('message to inbox', inbox),
    row('message to the start of the turn', start),
    row('start of the process, until it prints', processes),
  ]
}

/** Which identity sits in which workspace. */
const agentOf = new Map<string, string>()
await allWait(AGENTS)
for await (const record of trail.run(run).replay())
  if ('event_type' in record && record.event_type === 'workspace_created') {
    const { workspace_id, context } = record.body as { workspace_id: string; context?: string }
    const stored = context === undefined ? undefined : await trail.run(run).object(context as never)
    const { agent } = (stored?.value ?? {}) as { agent?: string }
    if (agent !== undefined) agentOf.set(workspace_id, agent)
  }

function byHand(): Promise<number> {
  const began = clock.now()
  return new Promise(resolve => {
    spawn(COMMAND[0], COMMAND.slice(1), { cwd: project }).once('close', () => resolve((clock.now() - began) / 1000))
  })
}

/** One agent after another: from the message until it waits again, and the command by hand. */
async function overhead(): Promise<string[][]> {
  const whole: number[] = []
  const hand: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    // Each wait is a question of its own.
    const [gate] = await coordinator.gates.list()
    turns.clear()
    expected++
    const began = clock.now()
    unwrap(await coordinator.gates.reply(gate!.id, { answer: 'envelope', text: 'Go on.', principal: owner }))
    await allWait(1)
    const [turn] = turns.values()
    whole.push((turn!.ended - began) / 1000)
    hand.push(await byHand())
  }
  return [
    ['by hand', median(hand).toFixed(1), ''],
    [
      'as a turn, from the message until its process has ended',
      median(whole).toFixed(1),
      (median(whole) - median(hand)).toFixed(1),
    ],
  ]
}

console.log(`${new Date().toISOString().slice(0, 10)}, ${machine()}; ${AGENTS} agents, ${ROUNDS} rounds`)
const columns = ['ms', 'p50', 'p99', 'most']
console.log(`\n${table([`all ${AGENTS} at once, ${columns[0]}`, ...columns.slice(1)], await measure(0))}`)
console.log(`\n${table([`spread over a second, ${columns[0]}`, ...columns.slice(1)], await measure(1000))}`)
console.log(`\n${table(['one command, ms', 'median', 'more than by hand'], await overhead())}`)
await coordinator.interventions.abort(run, { principal: owner, reason: 'measured' })
for await (const _view of coordinator.views.follow(run));
await coordinator.close()
clearInterval(alive)
await trail.close()
rmSync(folder, { recursive: true, force: true })
