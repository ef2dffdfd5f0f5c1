// bench/alx: a solve over HTTP that selects a Knowledge Block, and one whose team is an agent that does nothing, beside
// `SendMessage` of A2A and `tools/call` of MCP as their official SDKs serve them, beside bare Fastify and `node:http`,
// and beside the whole tasks of `bench kernel`, in the same run. npm run bench -- alx [--seconds N] [--inflight 1,64]
// [--no-peers] [--short]. With `--sse [N]`: the events of one run to N clients instead, 1,000 by default.
import { parseArgs } from 'node:util'
import { type EventRow, measureEvents } from './alx/events.ts'
import { bareEvents, parleyEvents, startParley } from './alx/parley.ts'
import { measureRounds, type Row } from './alx/rounds.ts'
import { peerSide, type Side, sideOf, startBare, tasksSide } from './alx/sides.ts'
import { machine, rate, ratio, table } from './trail/measure.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seconds: { type: 'string' },
    inflight: { type: 'string' },
    'no-peers': { type: 'boolean', default: false },
    sse: { type: 'boolean', default: false },
    short: { type: 'boolean', default: false },
  },
})
const ROUNDS = values.short ? 1 : 7
/** Of a side in one round. */
const MILLISECONDS = (Number(values.seconds ?? (values.short ? 0.05 : 10)) * 1000) / ROUNDS
const INFLIGHT = (values.inflight ?? (values.short ? '2' : '1,64')).split(',').map(Number)
const PEERS = !values['no-peers'] && !values.short
const CLIENTS = Number(positionals[0] ?? (values.short ? 3 : 1000))
/** With so many requests in flight, a solve is at least so many times the other side. */
const GOALS = { atOnce: 64, blockOfPeer: 1, agentOfTasks: 0.5 } as const

const shown = (value: number | undefined, text: (value: number) => string) => (value === undefined ? '–' : text(value))
const ms = (value: number) => value.toFixed(2)

/** The same sides in the same order, with so many requests in flight. */
interface Column {
  readonly atOnce: number
  of(side: Side): Row
}

async function solves(): Promise<void> {
  const block = sideOf('Parley, a solve that selects a block', parley, 'block')
  const agent = sideOf('Parley, a solve with an agent that does nothing', parley, 'agent')
  const peers: Side[] = []
  const noted: Side[] = []
  if (PEERS) {
    peers.push(await peerSide('A2A SendMessage, a completed task', 'a2a.ts', 'task'))
    peers.push(await peerSide('MCP tools/call, 2026-07-28', 'mcp.ts', 'modern'))
    peers.push(await peerSide('MCP tools/call, 2025-11-25', 'mcp.ts', 'legacy'))
    // No peer of the goal: nothing keeps such an answer, not even the memory of the server.
    noted.push(await peerSide('A2A SendMessage, a bare message', 'a2a.ts', 'message'))
    noted.push(await peerSide('Fastify, bare', 'fastify.ts'))
  }
  const tasks = tasksSide()
  const others = [...peers, ...noted, sideOf('node:http, bare', bare), tasks]
  const columns: Column[] = []
  try {
    for (const atOnce of INFLIGHT) {
      const rows = await measureRounds([block, agent, ...others], atOnce, ROUNDS, MILLISECONDS)
      columns.push({ atOnce, of: side => rows.find(row => row.side === side)! })
    }
  } finally {
    for (const side of [block, agent, ...others]) await side.stop()
  }
  console.log(rates([block, agent, ...others], columns))
  console.log(`\n${ratios([block, agent], others, columns)}`)
  const measured = columns.find(({ atOnce }) => atOnce === GOALS.atOnce)
  if (measured) console.log(`\n${goals(measured, { block, agent, peers, tasks }).join('\n')}`)
}

function rates(sides: readonly Side[], columns: readonly Column[]): string {
  const head = columns.flatMap(({ atOnce }) => [`${rate(atOnce)} at once`, 'p50 ms', 'p99 ms', 'client busy'])
  const cells = (row: Row) => [
    shown(row.typical('perSecond'), rate),
    shown(row.typical('p50'), ms),
    shown(row.typical('p99'), ms),
    shown(row.typical('busy'), ratio),
  ]
  return table(
    ['answers per second', ...head],
    sides.map(side => [side.name, ...columns.flatMap(({ of }) => cells(of(side)))]),
  )
}

function ratios(own: readonly Side[], others: readonly Side[], columns: readonly Column[]): string {
  return table(
    ['a solve is times this', ...columns.flatMap(({ atOnce }) => [`block, ${rate(atOnce)}`, `agent, ${rate(atOnce)}`])],
    others.map(other => [
      other.name,
      ...columns.flatMap(({ of }) => own.map(side => shown(of(side).over(of(other)), ratio))),
    ]),
  )
}

interface Compared {
  readonly block: Side
  readonly agent: Side
  readonly peers: readonly Side[]
  readonly tasks: Side
}

function goals({ of }: Column, { block, agent, peers, tasks }: Compared): readonly string[] {
  const speed = (side: Side) => of(side).typical('perSecond') ?? 0
  const faster = peers.toSorted((one, other) => speed(other) - speed(one))[0]
  return [
    goal('a solve that selects a block, of the faster peer', faster && of(block).over(of(faster)), GOALS.blockOfPeer),
    goal('a solve with an agent, of whole tasks', of(agent).over(of(tasks)), GOALS.agentOfTasks),
  ]
}

function goal(name: string, value: number | undefined, least: number): string {
  const verdict = value === undefined ? 'not measured' : value >= least ? 'met' : 'missed'
  return `${verdict}: ${name}, ${rate(GOALS.atOnce)} at once: ${shown(value, ratio)}, goal ${least.toFixed(1)}`
}

async function events(): Promise<void> {
  const rows: EventRow[] = []
  for (const source of [parleyEvents(parley), bareEvents(bare)]) rows.push(await measureEvents(source, CLIENTS))
  const whole = (value: number) => value.toFixed(0)
  console.log(
    table(
      [
        `ms from an event's stamp to each of ${rate(CLIENTS)} clients`,
        ...['p50', 'p99', 'p50 beside one that never reads', 'p99 beside it', 'KiB of the server for each'],
      ],
      rows.map(({ name, watched, besideSilent }) => [
        name,
        ...[watched.p50, watched.p99, besideSilent.p50, besideSilent.p99].map(whole),
        ms(watched.perClient / 1024),
      ]),
    ),
  )
}

console.log(`${new Date().toISOString().slice(0, 10)}, ${machine()}\n`)
// The benchmark is Parley's: without a node that serves ALX it fails.
const parley = await startParley()
const bare = await startBare()
try {
  if (!values.sse) await solves()
  if (values.short) console.log()
  if (values.sse || values.short) await events()
} finally {
  for (const server of [parley, bare]) await server.stop()
}
