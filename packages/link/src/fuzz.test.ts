// Fuzzing of whatever reads what a peer wrote (the JSON reader, the checks of a message, lines, frames, handshakes) and
// of files of state with anything in them (ALP-ERR-05). Nothing is ever thrown, nothing that was altered passes, and a
// short text costs no long time.
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { ManualClock } from '@parley/core'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { openLedger } from './budget/ledger-file.ts'
import { readTs } from './envelope/timestamp.ts'
import { readResponse, verifyMessage } from './envelope/verify.ts'
import { linkPaths } from './identity/files.ts'
import { parseWire } from './json/parse.ts'
import { canonicalText } from './json/write.ts'
import { Initiator, Responder } from './noise/handshake.ts'
import { PeerList } from './peers/peer-list.ts'
import { PendingPeers } from './peers/pending.ts'
import { Threads } from './service/threads.ts'
import { at } from './testing/clock.ts'
import { temporaryFolder } from './testing/homes.ts'
import { identityOf, vectors } from './testing/vectors.ts'
import { Frames, Lines, type Splitter } from './transport/split.ts'

const INPUTS = process.env.PARLEY_SOAK ? 1_000_000 : 10_000
/** Another one every time, unless somebody wants to see a run again. */
const SEED = Number(process.env.PARLEY_SEED ?? Date.now() % 2 ** 31)
const RUNS = { numRuns: INPUTS, seed: SEED } as const
const now = at('2026-04-23T12:01:00Z')
const [alice, bob] = [identityOf('alice'), identityOf('bob')]
const wires = vectors.envelopes.map(({ wire }) => Buffer.from(wire))

const mutation = fc.record({
  at: fc.nat(),
  length: fc.nat(8),
  kind: fc.constantFrom('remove', 'repeat', 'insert', 'flip', 'cut', 'swap'),
  bytes: fc.oneof(
    fc.uint8Array({ maxLength: 8 }),
    fc
      .constantFrom('\n', ...String.raw`" \ { } [ ] , : \ud800 \u0000 1e999 -0 1.0 NaN null "alp":{}`.split(' '))
      .map(text => Buffer.from(text)),
  ),
})

type Mutation = typeof mutation extends fc.Arbitrary<infer T> ? T : never

function mutated(source: Buffer, { at, length, kind, bytes }: Mutation): Buffer {
  const from = at % (source.length + 1)
  const [before, part, after] = [
    source.subarray(0, from),
    source.subarray(from, from + length),
    source.subarray(from + length),
  ]
  switch (kind) {
    case 'remove':
      return Buffer.concat([before, after])
    case 'repeat':
      return Buffer.concat([before, part, part, after])
    case 'insert':
      return Buffer.concat([before, bytes, part, after])
    case 'flip':
      return Buffer.concat([before, part.map(byte => byte ^ (1 << (at % 8))), after])
    case 'cut':
      return Buffer.from(before)
    default:
      return Buffer.concat([before, bytes, after])
  }
}

const message = fc
  .tuple(fc.constantFrom(...wires), fc.array(mutation, { maxLength: 3 }))
  .map(([wire, mutations]) => ({ wire, changed: mutations.reduce(mutated, wire) }))

test(`${INPUTS} messages, altered or invented: what passes has the canonical bytes that were signed`, () => {
  let accepted = 0
  fc.assert(
    fc.property(
      fc.oneof(
        { weight: 9, arbitrary: message },
        fc.uint8Array({ maxLength: 300 }).map(bytes => ({ wire: wires[0]!, changed: Buffer.from(bytes) })),
      ),
      ({ wire, changed }) => {
        const result = verifyMessage(changed, { self: bob.id, now })
        if (result.ok) {
          accepted++
          expect(canonicalText(parseWire(changed)!)).toBe(canonicalText(parseWire(wire)!))
        }
        readResponse(changed, { self: alice.id, dialled: bob.id, id: 'f3436f50b2f7f1613ad142dbce1d2480', now })
      },
    ),
    RUNS,
  )
  expect(accepted).toBeGreaterThan(0)
})

const tokens = String.raw`{ } [ ] , : " \ \u "a" 1 - . e 0 true nul é 😀 \ud83d Infinity`.split(' ')
const token = fc.constantFrom(' ', '\n', '\u0000', ...tokens)

test(`${INPUTS} texts of tokens: what is read as JSON is JSON for everybody else too`, () => {
  fc.assert(
    fc.property(fc.array(token, { maxLength: 40 }), tokens => {
      const text = tokens.join('')
      const value = parseWire(Buffer.from(text))
      let others: unknown
      try {
        others = JSON.parse(text)
      } catch {
        others = undefined
      }
      expect(value === undefined).toBe(others === undefined)
    }),
    RUNS,
  )
})

/** The frames of a whole stream, found in the plainest way. */
function framesOf(stream: Buffer, prefix: number, most: number): (Buffer | 'violated')[] {
  const frames: (Buffer | 'violated')[] = []
  for (let at = 0; at + prefix <= stream.length; ) {
    const length = stream.readUIntBE(at, prefix)
    if (length > most) return [...frames, 'violated']
    if (at + prefix + length > stream.length) break
    frames.push(stream.subarray(at + prefix, at + prefix + length))
    at += prefix + length
  }
  return frames
}

/** What a splitter makes of a stream that comes in these pieces. */
function cutsOf(splitter: Splitter, chunks: readonly Uint8Array[]): (Buffer | 'violated')[] {
  const cuts: (Buffer | 'violated')[] = []
  for (const chunk of chunks) {
    splitter.push(chunk)
    for (let cut = splitter.next(); cut !== undefined; cut = splitter.next()) {
      cuts.push(cut)
      if (cut === 'violated') return cuts
    }
  }
  return cuts
}

/** Any bytes; or frames with lengths that are mostly right, so that many follow one another. */
const framed = fc
  .array(fc.tuple(fc.uint8Array({ maxLength: 40 }), fc.constantFrom(0, 0, 0, 0, 1, 200)), { maxLength: 6 })
  .map(frames =>
    Buffer.concat(
      frames.flatMap(([body, wrong]) => [Buffer.from([0, 0, 0, Math.min(255, body.length + wrong)]), body]),
    ),
  )
const stream = fc.oneof(
  fc.array(fc.uint8Array({ maxLength: 64 }), { maxLength: 8 }),
  fc.tuple(framed, fc.array(fc.nat(60), { maxLength: 8 })).map(([bytes, sizes]) => {
    const pieces: Uint8Array[] = []
    let at = 0
    for (const size of sizes) {
      pieces.push(bytes.subarray(at, at + size))
      at += size
    }
    return [...pieces, bytes.subarray(at)]
  }),
)

test(`${INPUTS} streams of bytes: frames are those of the whole stream, however it comes; lines keep their bound`, () => {
  fc.assert(
    fc.property(stream, fc.nat(64), (chunks, most) => {
      const whole = Buffer.concat(chunks)
      for (const prefix of [2, 4])
        expect(cutsOf(new Frames(prefix, most), chunks)).toEqual(framesOf(whole, prefix, most))
      for (const line of cutsOf(new Lines(most), chunks))
        if (line !== 'violated') expect(line.length).toBeLessThanOrEqual(most)
    }),
    RUNS,
  )
})

test(`${INPUTS} timestamps: an instant or nothing`, () => {
  const stamp = fc
    .array(fc.constantFrom('2026', '-', '04', ':', 'T', 'Z', '+', '.', '123', '0', '99', ' '))
    .map(parts => parts.join(''))
  fc.assert(
    fc.property(stamp, text => {
      const micros = readTs(text)
      if (micros !== undefined) expect(Number.isSafeInteger(micros)).toBe(true)
    }),
    RUNS,
  )
})

const HANDSHAKES = Math.max(200, INPUTS / 50)

test(`ALP-NOISE-08 ${HANDSHAKES} altered handshakes: none succeeds, none throws`, () => {
  fc.assert(
    fc.property(fc.nat(2), mutation, (which, change) => {
      const initiator = new Initiator(alice.noise, bob.noise.publicKey)
      const responder = new Responder(bob.noise)
      let altered = false
      const pass = (step: number, bytes: Buffer) => {
        if (step !== which) return bytes
        const spoilt = mutated(bytes, change)
        altered = !spoilt.equals(bytes)
        return spoilt
      }
      const done =
        responder.first(pass(0, initiator.first()!)) &&
        initiator.second(pass(1, responder.second()!)) &&
        responder.third(pass(2, initiator.third()!.message))
      expect(done === undefined).toBe(altered)
    }),
    { ...RUNS, numRuns: HANDSHAKES },
  )
})

test('the longest texts are read, or refused, in a short time', () => {
  const size = 1_000_000
  for (const text of [
    '['.repeat(size),
    `"${'a'.repeat(size)}`,
    `"${'\\u0041'.repeat(size / 6)}"`,
    `[${'1,'.repeat(size / 2)}1]`,
    `{${Array.from({ length: size / 12 }, (_, index) => `"${index}":1`).join()}}`,
    `[${'0.1e1,'.repeat(size / 6)}1]`,
    `[${`${'9'.repeat(4000)},`.repeat(size / 4001)}1]`,
    ' '.repeat(size),
    `{"alp":{"v":1,"from":"${'A'.repeat(size)}","to":"x","ts":"2026-04-23T12:01:00Z","nonce":"n","sig":"x"}}`,
  ]) {
    const began = performance.now()
    verifyMessage(Buffer.from(text), { self: bob.id, now })
    expect(performance.now() - began, text.slice(0, 20)).toBeLessThan(2000)
  }
})

const numRuns = process.env.PARLEY_SOAK ? 100_000 : 300

// Once: every identity holds guarded memory, of which a process has little.
const carol = identityOf('carol')

const NUMBERS = ['1e999', '1e308', '.nan', '\\ud800', '9007199254740991']
const SOUND = [
  `- id: "a"\n  pubkey: "${alice.id}"\n  allow:\n  - "link.ping"\n  rate_limit:\n    per_minute: 30\n`,
  `- pubkey: "${alice.id}"\n  first_seen: 1777678347.279\n  last_seen: 1777694616.993\n`,
  '{"by_peer":{"a":{"tokens":1,"usd":0.5}},"day":"2026-01-01","history":{},"profile":{"tokens":1,"usd":0.5},"reserved":{"x":{"at":1.0,"peer":"a","usd":1.0}}}',
  '{\n  "sender": "a",\n  "turns": [\n    {\n      "at": 1.5,\n      "user": "u",\n      "assistant": "a"\n    }\n  ]\n}',
]

/** Any bytes; or a sound file with a piece of it replaced by any text. */
const contents = fc.oneof(
  fc.uint8Array({ maxLength: 200 }).map(bytes => Buffer.from(bytes)),
  fc
    .record({
      text: fc.constantFrom(...SOUND),
      from: fc.nat(250),
      length: fc.nat(20),
      piece: fc.oneof(
        fc.string({ unit: 'binary', maxLength: 12 }),
        fc.constantFrom(...['*a', '&a', '- ', '\n', '[', '{', '<<: *a', '!!binary '], ...NUMBERS),
      ),
    })
    .map(({ text, from, length, piece }) => Buffer.from(text.slice(0, from) + piece + text.slice(from + length))),
)

test('ALP-ERR-05 whatever lies in the files of peers, invites, spending and threads, they can be read and written', async () => {
  const home = temporaryFolder()
  const paths = linkPaths(home)
  const clock = new ManualClock()
  for (const path of [paths.peers, paths.ledger, join(paths.mentions, 'a')])
    mkdirSync(dirname(path), { recursive: true })
  await fc.assert(
    fc.asyncProperty(contents, async bytes => {
      for (const path of [paths.peers, paths.pending, paths.ledger, join(paths.mentions, 'a.json')])
        writeFileSync(path, bytes)
      const peers = new PeerList(paths.peers, { clock, lock: paths.peersLock })
      const before = peers.all()
      const added = await peers.add({ id: 'new', pubkey: bob.id, allow: ['link.ping'] })
      // Either it was added and all others are as they were, or the file is.
      expect(peers.all().map(({ id }) => id)).toEqual([...before.map(({ id }) => id), ...(added.ok ? ['new'] : [])])
      const pending = new PendingPeers(paths.pending, { clock })
      pending.knock(carol.id, undefined)
      expect(pending.list().some(({ pubkey }) => pubkey === carol.id)).toBe(true)
      pending.close()
      const ledger = openLedger(paths.ledger, { clock, cap: () => undefined })
      const spent = ledger.today().profile.usd
      const grant = ledger.reserve('a')
      if (grant.ok) grant.value.settle({ usd: 1 })
      expect(ledger.today().profile.usd).toBe(Math.min(spent + 1, 1e12))
      const threads = new Threads(paths.mentions, { clock })
      threads.add({ id: 'a', pubkey: 'k' }, 'u', 'said')
      expect(threads.history({ id: 'a', pubkey: 'k' }).at(-1)?.text).toBe('said')
    }),
    { numRuns },
  )
})
