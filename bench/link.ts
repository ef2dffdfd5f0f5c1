// bench/link: what pinned, signed, encrypted links cost, beside TLS 1.3 with certificates on both sides and beside
// libsodium alone, in one run. npm run bench -- link [--seconds N] [--short]
//
// Both sides of everything are in this process, on one core, unless its name says otherwise. Every row is measured for
// N seconds, in short rounds that take turns, so that what else the machine does meets all alike; ratios are medians
// of the rounds' own ratios.
import { fork } from 'node:child_process'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Target } from '@parley/link'
import { Bare } from './link/bare.ts'
import { type Carrier, handshakes } from './link/carrier.ts'
import { Echo } from './link/echo.ts'
import { Messages } from './link/messages.ts'
import { NoiseCarrier } from './link/noise.ts'
import { caller, serveProfile } from './link/profile.ts'
import { TlsCarrier } from './link/tls.ts'
import { machine, median, rate, ratio, table } from './trail/measure.ts'

const { values } = parseArgs({ options: { seconds: { type: 'string' }, short: { type: 'boolean', default: false } } })
const ROUNDS = values.short ? 1 : 8
const MILLISECONDS = (Number(values.seconds ?? (values.short ? 0.02 : 4)) * 1000) / ROUNDS
const AT_ONCE = 8
/** What a batch of calls is written in, and the most that a frame holds. */
const SIZES = { '64 KiB': 65_536, '1 MiB': 1_048_560 } as const

/** One row: what is counted, by round. The first round is for warming up. */
class Row {
  readonly name: string
  readonly rounds: number[] = []
  readonly #measure: () => number | Promise<number>

  constructor(name: string, measure: () => number | Promise<number>) {
    this.name = name
    this.#measure = measure
  }

  async round(): Promise<void> {
    this.rounds.push(await this.#measure())
  }

  get typical(): number {
    return median(this.rounds.slice(1))
  }

  over(other: Row): number {
    return median(this.rounds.map((each, index) => each / other.rounds[index]!).slice(1))
  }
}

function elsewhere(): Promise<{ readonly target: Target; stop(): Promise<void> }> {
  const child = fork(join(import.meta.dirname, 'link', 'server.ts'))
  const gone = new Promise<void>(resolve => child.once('exit', () => resolve()))
  const stop = () => {
    child.disconnect()
    return gone
  }
  return new Promise((resolve, reject) => {
    child.once('message', target => resolve({ target: target as Target, stop }))
    child.once('exit', code => reject(new Error(`the other process ended with ${code}`)))
  })
}

const bare = new Bare(caller)
const echo = await Echo.start()
const [here, there] = [await serveProfile(), await elsewhere()]
const [messages, apart] = [new Messages(here.target), new Messages(there.target)]
const noise = await NoiseCarrier.start()
const [p256, ed25519, chacha] = [
  await TlsCarrier.start({ name: 'TLS 1.3, P-256 certificates', certificates: 'P-256' }),
  await TlsCarrier.start({ name: 'TLS 1.3, Ed25519 certificates', certificates: 'Ed25519' }),
  await TlsCarrier.start({
    name: 'TLS 1.3, ChaCha20-Poly1305',
    certificates: 'P-256',
    cipher: 'TLS_CHACHA20_POLY1305_SHA256',
  }),
]

const verified = new Row('libsodium alone: verifications', () => bare.verified(MILLISECONDS))
const both = new Row('libsodium alone: signatures made and verified', () => bare.signedAndVerified(MILLISECONDS))
const echoes = new Row(
  'plain TCP alone: messages there and back',
  async () => 2 * (await echo.pings(bare.messageBytes, MILLISECONDS)),
)
const pings = new Row('messages of pings', async () => 2 * (await messages.pings(MILLISECONDS)))
const chunks = new Row('chunks of a stream', () => messages.chunks(MILLISECONDS))
const received = new Row('chunks of a stream, sent by another process', () => apart.chunks(MILLISECONDS))
const shaken = (carrier: Carrier) => new Row(carrier.name, () => handshakes(carrier, AT_ONCE, MILLISECONDS))
const shakes = [noise, p256, ed25519].map(shaken)
const sized = (name: string, pump: Carrier['pump']) =>
  Object.values(SIZES).map(size => new Row(name, () => pump(Buffer.alloc(size, 1), MILLISECONDS)))
const pumps = [
  sized('Noise, the stream of the call protocol', (...how) => noise.pump(...how)),
  sized('Noise, a frame for each', (...how) => noise.pumpFrames(...how)),
  sized('TLS 1.3, AES-256-GCM', (...how) => p256.pump(...how)),
  sized('TLS 1.3, ChaCha20-Poly1305', (...how) => chacha.pump(...how)),
  sized('libsodium alone: the cipher of both ends', async (chunk, time) => bare.ciphered(chunk.length, time)),
]

console.log(`${new Date().toISOString().slice(0, 10)}, ${machine()}\n`)
const rows = [verified, both, echoes, pings, chunks, received, ...shakes, ...pumps.flat()]
try {
  for (let round = 0; round <= ROUNDS; round++) for (const row of rows) await row.round()
} finally {
  for (const each of [echo, messages, apart]) each.close()
  for (const carrier of [noise, p256, ed25519, chacha]) await carrier.close()
  await Promise.all([here.close(), there.stop()])
}

// Every message is signed once and verified once. Where one core does both, each takes at least the time of the second
// row; where messages go there and back one by one, that of the third row comes on top. What was sent by another
// process this one only verifies.
const bound = (...parts: readonly Row[]) => 1 / parts.reduce((time, row) => time + 1 / row.typical, 0)
const bounded: readonly (readonly [Row, number])[] = [
  [pings, bound(both, echoes)],
  [chunks, bound(both)],
  [received, bound(verified)],
]
console.log(
  table(
    [
      `signed messages per second (${bare.messageBytes} bytes signed)`,
      '',
      'of verification alone',
      'of what can be had',
    ],
    [
      ...[verified, both, echoes].map(row => [row.name, rate(row.typical), '', '']),
      ...bounded.map(([row, most]) => [
        row.name,
        rate(row.typical),
        ratio(row.over(verified)),
        ratio(row.typical / most),
      ]),
    ],
  ),
)
const [xk] = shakes as [Row]
console.log(
  `\n${table(
    ['handshakes per second, both sides', '', 'Noise is times this'],
    shakes.map(row => [row.name, rate(row.typical), ratio(xk.over(row))]),
  )}`,
)
const megabytes = (row: Row) => rate(row.typical / 1e6)
console.log(
  `\n${table(
    ['MB per second one way, written in', ...Object.keys(SIZES).flatMap(size => [size, 'the first row is times this'])],
    pumps.map(columns => [
      columns[0]!.name,
      ...columns.flatMap((row, index) => [megabytes(row), ratio(pumps[0]![index]!.over(row))]),
    ]),
  )}`,
)
const goal = (name: string, value: number, least: number) =>
  `${value >= least ? 'met' : 'missed'}: ${name} ${ratio(value)}, goal ${least.toFixed(1)}`
console.log(
  `\n${[
    goal('messages received of verification alone, on one core,', received.over(verified), 0.6),
    goal('messages of pings of verification alone, one core for both sides,', pings.over(verified), 0.6),
    goal('handshakes of TLS', xk.over(shakes[1]!), 1),
    goal('bytes of TLS, 64 KiB', pumps[0]![0]!.over(pumps[2]![0]!), 0.8),
    goal('bytes of TLS, 1 MiB', pumps[0]![1]!.over(pumps[2]![1]!), 0.8),
  ].join('\n')}`,
)
