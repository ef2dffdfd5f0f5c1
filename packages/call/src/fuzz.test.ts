// Fuzzing (CALL-WIRE-01 to -05, CALL-EVT-02, -03, -07): seeded random and mutated inputs for everything that reads what
// a peer wrote. Nothing is ever thrown but `ProtocolViolation`, nothing depends on how bytes were cut into pieces, and
// what was written is read back as it was.
import { generateKeyPairSync } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { ManualClock } from '@parley/core'
import { expect, test } from 'vitest'
import { CallError, codeOf, opsName } from './error.ts'
import { callLimits } from './limits.ts'
import { CallNode } from './node.ts'
import { dottedName, normalName, parsePath } from './path.ts'
import { detectProfile, PROFILES, profileOf, readError, requestIdOf } from './profile/profile.ts'
import {
  below,
  cut,
  mutated,
  pick,
  type Random,
  someBody,
  someEnvelope,
  someJson,
  someObject,
  someRequest,
} from './testing/garbage.ts'
import { workerPrincipal } from './testing/head.ts'
import { heldBytes } from './testing/memory.ts'
import { echo, frameOf, registryOf, turn } from './testing/peer.ts'
import { randomBytes, seededRandom } from './testing/random.ts'
import { makeToken, verifyToken } from './token.ts'
import { FrameDecoder, parseBody } from './transport/frame.ts'
import { decodeMessage } from './transport/message.ts'
import type { Receiver, Transport } from './transport/transport.ts'
import { type Envelope, ProtocolViolation, parseEnvelope } from './wire/envelope.ts'
import { jsonProblem } from './wire/json.ts'
import { type InboundRequest, readRequest } from './wire/request.ts'
import { readSpec } from './wire/spec.ts'

const INPUTS = process.env.PARLEY_SOAK ? 1_000_000 : 20_000
const NOW = Date.UTC(2026, 0, 1)
const LEFTOVER = 32 * 2 ** 20

/** Runs one input for each seed; a failure names its seed. */
async function fuzz(inputs: number, run: (random: Random) => void | Promise<void>): Promise<void> {
  const before = await heldBytes()
  for (let seed = 0; seed < inputs; seed++) {
    try {
      await run(seededRandom(seed))
    } catch (cause) {
      throw new Error(`seed ${seed}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause })
    }
    if (seed % 1000 === 999) await turn()
  }
  expect((await heldBytes()) - before).toBeLessThan(LEFTOVER)
}

const FORBIDDEN = new Set(['__proto__', 'constructor', 'prototype'])

/** As `toEqual`, which takes most of the time where all is well. */
function agree(actual: unknown, expected: unknown): void {
  if (!isDeepStrictEqual(actual, expected)) expect(actual).toEqual(expected)
}

/** What comes of reading: the value, or the kind of violation. Anything else that is thrown goes through. */
function outcome<T>(read: () => T): T | string {
  try {
    return read()
  } catch (cause) {
    if (cause instanceof ProtocolViolation) return cause.kind
    throw cause
  }
}

interface Decoded {
  readonly envelopes: readonly Envelope[]
  readonly violation: string | undefined
  readonly partial: boolean
}

function decode(pieces: readonly Buffer[], maxBody: number): Decoded {
  const decoder = new FrameDecoder(maxBody)
  const envelopes: Envelope[] = []
  const violation = outcome(() => {
    for (const piece of pieces) decoder.push(piece, envelope => envelopes.push(envelope))
  })
  return { envelopes, violation: violation ?? undefined, partial: violation === undefined && decoder.partial }
}

test(`CALL-WIRE-03 ${INPUTS} streams are decoded alike however they are cut`, async () => {
  const seen = { envelopes: 0, violations: 0, partial: 0 }
  await fuzz(INPUTS, random => {
    const frames = Array.from({ length: 1 + below(random, 4) }, () => frameOf(someBody(random)))
    const bytes = random() < 0.05 ? randomBytes(random, below(random, 64)) : mutated(random, Buffer.concat(frames))
    const maxBody = random() < 0.1 ? 100 : callLimits.frameBytes
    const whole = decode([bytes], maxBody)
    agree(decode(cut(random, bytes), maxBody), whole)
    const single = () => Array.from(bytes, (_, at) => bytes.subarray(at, at + 1))
    if (random() < 0.1) agree(decode(single(), maxBody), whole)
    seen.envelopes += whole.envelopes.length
    seen.violations += whole.violation === undefined ? 0 : 1
    seen.partial += whole.partial ? 1 : 0
  })
  // The inputs reach everything that can come out.
  for (const count of Object.values(seen)) expect(count).toBeGreaterThan(INPUTS / 20)
})

test(`CALL-WIRE-05 ${INPUTS} bodies are read alike by every transport`, async () => {
  const kinds = new Map<string, number>()
  await fuzz(INPUTS, random => {
    const body = mutated(random, Buffer.from(someBody(random)))
    if (body.length === 0) return
    const read = outcome(() => parseEnvelope(body))
    const kind = typeof read === 'string' ? read : 'envelope'
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1)
    const others = [
      outcome(() => parseBody(body, 0, body.length)),
      outcome(() => parseEnvelope(Buffer.concat([Buffer.from('"'), body, Buffer.from('"')]), 1, body.length + 1)),
      outcome(() => decodeMessage(frameOf(body), callLimits.frameBytes)),
    ]
    // A body that is wrong in two ways may be called either.
    for (const other of others)
      if (typeof read === 'string') agree(typeof other, 'string')
      else agree(other, read)
    outcome(() => decodeMessage(body, callLimits.frameBytes))
  })
  expect([...kinds.keys()].toSorted()).toEqual(['envelope', 'malformed', 'not_json'])
})

test(`CALL-EVT-03 ${INPUTS} payloads are read without an exception`, async () => {
  const results = new Map<string, number>()
  await fuzz(INPUTS, random => {
    const payload = random() < 0.5 ? someRequest(random) : someJson(random)
    const id = pick(random, ['', 'r1', 'x'.repeat(128)])
    const request = readRequest(id, payload, NOW)
    const result = request instanceof CallError ? request.code : 'read'
    results.set(result, (results.get(result) ?? 0) + 1)
    if (!(request instanceof CallError)) {
      agree(parsePath(request.target.path), request.target)
      for (const key of Object.keys(request.metadata ?? {})) if (FORBIDDEN.has(key)) expect.fail(`metadata has ${key}`)
    }
    agree(typeof requestIdOf(id, payload), 'string')
    const profile = detectProfile(payload)
    for (const name of PROFILES) profileOf(name).value(payload)
    const error = readError(payload, profile)
    agree([typeof error.code, typeof error.message, typeof error.retryable], ['string', 'string', 'boolean'])
    // What was read can be written again.
    JSON.parse(profile.error(id, id, error))
    readSpec(payload)
    readSpec({ ...someObject(random), name: '/a/b', op_type: 'query', access_control: payload })
    const text = pick(random, [String(codeOf(error.code)), error.message, opsName(error.code)])
    const path = parsePath(normalName(text))
    if (path) agree(normalName(dottedName(path.path)), path.path)
    agree(jsonProblem(payload), undefined)
  })
  expect([...results.keys()].toSorted()).toEqual(['INVALID_INPUT', 'TIMEOUT', 'read'])
})

test(`CALL-EVT-02 ${INPUTS} events in every spelling are read as they were written`, async () => {
  await fuzz(INPUTS, random => {
    const profile = profileOf(pick(random, PROFILES))
    const id = pick(random, ['r1', '"', '\\', '\ud800', 'ä\n', 'x'.repeat(128)])
    const value = someJson(random)
    const read = (text: string): Envelope => parseEnvelope(Buffer.from(text))
    // JSON has no way to say -0.
    const same = JSON.parse(JSON.stringify(value)) as unknown
    const responded = read(profile.responded(id, id, value, '/a/b', undefined))
    agree(requestIdOf(responded.id, responded.payload), id)
    agree(profile.value(responded.payload), same)
    const metadata = someObject(random)
    const deadline = NOW + below(random, 1e6)
    const asked = read(profile.request(id, '/a/b', value, { metadata, deadline, idleTimeout: 1 }))
    agree(detectProfile(asked.payload).name, profile.name)
    const request = readRequest(requestIdOf(asked.id, asked.payload), asked.payload, NOW)
    const { target, input, ...limits } = request as InboundRequest
    agree([target?.path, limits.deadline, limits.idleTimeout, input], ['/a/b', deadline, 1, same])
    const error = new CallError(pick(random, ['NOT_FOUND', 'CONFLICT', 'OWN_CODE']), 'm"\ud800', { details: value })
    const failed = readError(read(profile.error(id, id, error)).payload, profile)
    agree([failed.code, failed.message, failed.details], [error.code, error.message, same])
    for (const text of [profile.completed(id, id), profile.aborted(id, id)]) {
      const { id: envelopeId, payload } = read(text)
      agree(requestIdOf(envelopeId, payload), id)
    }
  })
})

/** A transport whose other end is the test. */
class Loose implements Transport {
  readonly kind = 'test'
  readonly identity = workerPrincipal('w')
  readonly maxBody = callLimits.frameBytes
  readonly queued = 0
  readonly sent: Envelope[] = []
  receiver!: Receiver

  start(receiver: Receiver): void {
    this.receiver = receiver
  }

  send(text: string): void {
    this.sent.push(parseEnvelope(Buffer.from(text)))
  }

  close(): void {
    this.receiver.closed('closed')
  }
}

test(`CALL-EVT-09 a head takes ${INPUTS} envelopes in any order, and every request ends at most once`, async () => {
  const registry = registryOf({
    '/test/echo': echo,
    '/a/b': async () => turn(),
    '/test/stream': async function* () {
      yield 1
      await turn()
      yield 2
    },
  })
  const perLink = 50
  await fuzz(INPUTS / perLink, async random => {
    const transport = new Loose()
    const node = new CallNode({ registry, head: true, clock: new ManualClock() })
    const link = node.attach(transport, { profile: pick(random, ['seed', 'core', 'ops', 'auto']) })
    const calls = Array.from({ length: 3 }, () => link.callEnvelope('/x/y'))
    const own = transport.sent.map(({ id, payload }) => requestIdOf(id, payload))
    const asked = new Map<string, number>()
    for (let count = 0; count < perLink; count++) {
      const envelope = someEnvelope(random, ['', ...own, ...Array.from({ length: 9 }, (_, index) => `r${index}`)])
      const id = requestIdOf(envelope.id, envelope.payload)
      if (envelope.type === 'call.requested') asked.set(id, (asked.get(id) ?? 0) + 1)
      transport.receiver.envelope(JSON.parse(JSON.stringify(envelope)) as Envelope)
      if (random() < 0.1) await turn()
    }
    for (let turns = 0; turns < 4; turns++) await turn()
    transport.close()
    for (const { result } of await Promise.all(calls)) if (!result.ok) expect(result.error).toBeInstanceOf(CallError)
    expect([link.pendingCount, link.inboundCount, node.links.length]).toEqual([0, 0, 0])
    const ended = transport.sent.filter(({ type }) => type === 'call.error' || type === 'call.completed')
    for (const [id, events] of Map.groupBy(ended, each => requestIdOf(each.id, each.payload)))
      expect(events.length).toBeLessThanOrEqual(asked.get(id) ?? 0)
    const { length } = transport.sent
    await turn()
    expect(transport.sent).toHaveLength(length)
  })
})

test(`CALL-TRANS-08 of ${INPUTS / 10} forged tokens none is accepted`, async () => {
  const clock = new ManualClock()
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const token = makeToken(privateKey, clock)
  const genuine = (text: string) => verifyToken(text, () => publicKey, clock)
  expect(genuine(token)).toBeTypeOf('string')
  await fuzz(INPUTS / 10, random => {
    const forged = mutated(random, Buffer.from(token)).toString('latin1')
    if (forged !== token) agree(genuine(forged), undefined)
    const bytes = mutated(random, Buffer.from(token, 'base64url'))
    if (bytes.toString('base64url') !== token) expect(genuine(bytes.toString('base64url'))).toBeUndefined()
  })
})
