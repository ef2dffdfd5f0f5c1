// Canonical JSON against the platform's JSON.stringify, which sorts nothing and checks nothing. Both sides end with
// the bytes in a buffer, since a text that is still a rope of parts has not been written yet.
// npm run bench -- canonical [--short]
import { parseArgs } from 'node:util'
import { canonicalize } from '@parley/core'
import { machine, median, rate, ratio, table } from './trail/measure.ts'

const { values: options } = parseArgs({ options: { short: { type: 'boolean', default: false } } })

const hash = (index: number) => index.toString(16).padStart(64, 'e3b0c44298fc1c149afbf4c8996fb924')
const id = (prefix: string, index: number) => `${prefix}_01k9zq3v7m8d2c4x5y6b7n${String(index).padStart(4, '0')}`

function entry(index: number, event_type: string, body: Record<string, unknown>): Record<string, unknown> {
  return {
    id: id('ent', index),
    timestamp: `2026-03-01T09:05:00.${String(index).padStart(6, '0')}Z`,
    workspace: id('ws', index % 7),
    actor: 'worker',
    event_type,
    body,
    prev_hash: hash(index),
  }
}

/** 48 kinds of body, as in a trail: what is compiled for one shape must not win by being alone. */
const members =
  'workspace_id from to reason initiator cause sender recipient kind priority size gate_id checkpoint_id signal_id task_id'.split(
    ' ',
  )
function mixedBody(index: number): Record<string, unknown> {
  const kind = index % 48
  const body: Record<string, unknown> = { workspace_id: id('ws', index % 7) }
  for (let at = 0; at < 5 + (kind % 4); at++) {
    const name = members[1 + ((kind * 5 + at * 3) % (members.length - 1))]!
    body[name] = at % 4 === 3 ? index * 31 : at % 5 === 4 ? null : at === 2 ? index % 2 === 0 : id('env', index % 97)
  }
  return body
}

const shapes: Record<string, (index: number) => unknown> = {
  'envelope entry': index =>
    entry(index, 'envelope_created', {
      envelope_id: id('env', index),
      sender: id('ws', 1),
      recipient: id('ws', 2),
      kind: 'directive',
      priority: index % 7,
      requires_ack: true,
      cause: null,
      size: 1234 + index,
    }),
  'state change entry': index =>
    entry(index, 'workspace_state_changed', {
      workspace_id: id('ws', 1),
      from: 'active',
      to: 'blocked',
      initiator: 'worker',
      reason: 'waiting for the reviewer',
      counters: { turns: index % 9, tokens: 18_233 + index, usd: 0.12 + index / 1000 },
      tags: ['first', 'second', 'review'],
    }),
  '48 kinds of entry': index => entry(index, 'mixed', mixedBody(index)),
  'text and list': index => ({
    type: 'checkpoint',
    summary: `Line one, with "quotes" and a\nnew line; über, naïve ${index}`,
    files: [
      { path: 'src/index.ts', added: 12, removed: 3 },
      { path: 'src/kernel/decide.ts', added: 120, removed: 33 },
      { path: 'README.md', added: 1, removed: 0 },
    ],
    ok: true,
    author: 'agent#1',
    message: 'All tests pass. The change is small and the reviewer asked for nothing else.',
  }),
  'keys already sorted': index => ({
    actor: 'system',
    body: {
      from: 'active',
      initiator: 'worker',
      reason: 'waiting',
      to: 'blocked',
      workspace_id: id('ws', 1),
    },
    event_type: 'workspace_state_changed',
    id: id('ent', index),
    prev_hash: hash(index),
    timestamp: '2026-03-01T09:05:00.000042Z',
    workspace: id('ws', 1),
  }),
  'dictionary, new keys each time': index => ({
    type: 'usage',
    by_agent: Object.fromEntries(Array.from({ length: 8 }, (_, at) => [id('agent', index * 8 + at), at * 17])),
  }),
}

const valuesPerShape = 768
const [warmUpRounds, rounds] = options.short ? [2, 3] : [150, 100]
const buffer = Buffer.alloc(1 << 16)

function nanosecondsEach(write: (value: unknown) => string, values: readonly unknown[]): number {
  const start = process.hrtime.bigint()
  for (const value of values) buffer.write(write(value))
  return Number(process.hrtime.bigint() - start) / values.length
}

const rows: string[][] = []
for (const [name, make] of Object.entries(shapes)) {
  // Through JSON once, as values arrive in practice: from a wire or a file.
  const values = Array.from(
    { length: valuesPerShape },
    (_, index) => JSON.parse(JSON.stringify(make(index))) as unknown,
  )
  const plain: number[] = []
  const canonical: number[] = []
  for (let round = -warmUpRounds; round < rounds; round++) {
    const [one, other] = [nanosecondsEach(JSON.stringify, values), nanosecondsEach(canonicalize, values)]
    if (round < 0) continue
    plain.push(one)
    canonical.push(other)
  }
  const bytes = Buffer.byteLength(JSON.stringify(values[0]))
  const [stringify, ours] = [median(plain), median(canonical)]
  rows.push([name, rate(bytes), rate(stringify), rate(ours), ratio(stringify / ours)])
}
console.log(`${new Date().toISOString().slice(0, 10)}, ${machine()}\n`)
console.log(table(['ns each', 'bytes', 'JSON.stringify', 'canonicalize', 'ratio'], rows))
