// The suite that every transport passes (CALL-TRANS-01): two ends of one link, as raw transports with a recorder on
// each. What calls make of it is tested elsewhere.
import type { Principal } from '@parley/core'
import { describe, expect, onTestFinished, test } from 'vitest'
import { callLimits } from '../limits.ts'
import type { Receiver, Transport } from '../transport/transport.ts'
import type { Envelope, ProtocolViolation } from '../wire/envelope.ts'

export interface PairOptions {
  /** Who each end is to the other. */
  readonly left?: Principal
  readonly right?: Principal
  /** Bytes of the largest body that the right end takes. */
  readonly maxBody?: number
}

/** Two ends that are connected and not started. */
export interface TransportPair {
  readonly left: Transport
  readonly right: Transport
  /** Ends whatever the pair needs beside its two ends. */
  dispose?(): void | Promise<void>
}

export interface Traits {
  readonly kind: string
  /** Whether the carrier says how much it still has to send, and holds a sender back by it. */
  readonly queues: boolean
  /** What travels. Bytes are measured; objects cannot be malformed. */
  readonly carries: 'bytes' | 'text' | 'objects'
  /**
   * Whether there is a queue under it: what comes before `start` is kept, and what comes at once is spread over turns.
   */
  readonly keeps: boolean
}

type MakePair = (options: PairOptions) => Promise<TransportPair>

/** Everything that one end was told, in the order of the telling. */
export class Recorder implements Receiver {
  readonly envelopes: Envelope[] = []
  readonly violations: ProtocolViolation[] = []
  readonly reasons: string[] = []
  readonly order: ('envelope' | 'violation' | 'closed')[] = []
  onEnvelope: ((envelope: Envelope) => void) | undefined
  /** Whether there is no room for another. */
  full: (() => boolean) | undefined
  onDrain: (() => void) | undefined
  #waiting: { readonly holds: () => boolean; readonly resolve: () => void }[] = []

  envelope(envelope: Envelope): void {
    this.envelopes.push(envelope)
    this.order.push('envelope')
    this.onEnvelope?.(envelope)
    this.#look()
  }

  crowded(): boolean {
    return this.full?.() ?? false
  }

  violation(violation: ProtocolViolation): void {
    this.violations.push(violation)
    this.order.push('violation')
    this.#look()
  }

  drain(): void {
    this.onDrain?.()
    this.#look()
  }

  closed(reason: string): void {
    this.reasons.push(reason)
    this.order.push('closed')
    this.#look()
  }

  until(holds: () => boolean): Promise<void> {
    if (holds()) return Promise.resolve()
    return new Promise(resolve => this.#waiting.push({ holds, resolve }))
  }

  untilEnvelopes(count: number): Promise<void> {
    return this.until(() => this.envelopes.length >= count)
  }

  untilClosed(): Promise<void> {
    return this.until(() => this.reasons.length > 0)
  }

  #look(): void {
    const ready = this.#waiting.filter(({ holds }) => holds())
    this.#waiting = this.#waiting.filter(each => !ready.includes(each))
    for (const { resolve } of ready) resolve()
  }
}

const LEFT: Principal = { id: 'left', kind: 'agent', scopes: ['a'], resources: { project: ['read'] } }
const RIGHT: Principal = { id: 'right', kind: 'system', scopes: [] }
const SIDES = ['left', 'right'] as const

function message(index: number, payload: unknown = index): string {
  return JSON.stringify({ type: 'topic.test', id: String(index), payload })
}

function ids({ envelopes }: Recorder): number[] {
  return envelopes.map(({ id }) => Number(id))
}

function upTo(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index)
}

/** What could still come, has come. */
async function quiet(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise(resolve => setImmediate(resolve))
}

export function transportCompliance(name: string, make: MakePair, traits: Traits): void {
  const bytes = traits.carries === 'bytes'

  async function pair(options: PairOptions = {}): Promise<TransportPair> {
    const made = await make(options)
    onTestFinished(async () => {
      made.left.close()
      made.right.close()
      await made.dispose?.()
    })
    return made
  }

  async function started(options: PairOptions = {}) {
    const ends = await pair(options)
    const heard = { left: new Recorder(), right: new Recorder() }
    ends.left.start(heard.left)
    ends.right.start(heard.right)
    return { ends, heard }
  }

  describe(`${name} is a transport`, () => {
    test('it says what kind it is', async () => {
      const { left, right } = await pair()
      expect([left.kind, right.kind]).toEqual([traits.kind, traits.kind])
    })

    test('each end knows who the other is, if anybody said so', async () => {
      const known = await pair({ left: LEFT, right: RIGHT })
      expect(known.right.identity).toEqual(LEFT)
      expect(known.left.identity).toEqual(RIGHT)
      const unknown = await pair()
      expect([unknown.left.identity, unknown.right.identity]).toEqual([undefined, undefined])
    })

    test('envelopes arrive whole and in order, in both directions at once', async () => {
      const { ends, heard } = await started()
      const count = 2000
      for (const index of upTo(count)) for (const side of SIDES) ends[side].send(message(index, { side, index }))
      await Promise.all(SIDES.map(side => heard[side].untilEnvelopes(count)))
      expect(ids(heard.left)).toEqual(upTo(count))
      expect(ids(heard.right)).toEqual(upTo(count))
      expect(heard.right.envelopes[7]).toEqual({
        type: 'topic.test',
        id: '7',
        payload: { side: 'left', index: 7 },
      })
      expect(heard.left.envelopes[7]).toEqual({
        type: 'topic.test',
        id: '7',
        payload: { side: 'right', index: 7 },
      })
    })

    test('any text arrives as it was', async () => {
      const { ends, heard } = await started()
      const texts = ['', 'ä', '€', '😀', 'a\u0301', '\u2028\u2029', '\u0000\u001f"\\', '\ufeff', '中文'.repeat(40_000)]
      for (const [index, text] of texts.entries()) ends.left.send(message(index, text))
      await heard.right.untilEnvelopes(texts.length)
      expect(heard.right.envelopes.map(({ payload }) => payload)).toEqual(texts)
    })

    test.each(SIDES)('bodies of up to 8 MiB arrive, sent from the %s', async side => {
      const { ends, heard } = await started()
      const other = side === 'left' ? heard.right : heard.left
      const sizes = [64 * 1024 - 60, 64 * 1024, 1024 * 1024, 8 * 1024 * 1024 - 200]
      for (const [index, size] of sizes.entries()) ends[side].send(message(index, 'x'.repeat(size)))
      await other.untilEnvelopes(sizes.length)
      expect(other.envelopes.map(({ payload }) => (payload as string).length)).toEqual(sizes)
      expect(other.envelopes.every(({ payload }) => /^x+$/.test(payload as string))).toBe(true)
    })

    test.each(SIDES)('what the %s sent before closing arrives, and then both hear of the end once', async side => {
      const { ends, heard } = await started()
      const other = side === 'left' ? 'right' : 'left'
      for (const index of upTo(300)) ends[side].send(message(index, 'x'.repeat(1000)))
      ends[side].close('enough')
      ends[side].close('again')
      ends[side].send(message(300))
      await Promise.all([heard[side].untilClosed(), heard[other].untilClosed()])
      expect(heard[side].reasons).toEqual(['enough'])
      expect(ids(heard[other])).toEqual(upTo(300))
      expect(heard[other].order.at(-1)).toBe('closed')
      ends[other].close('too late')
      ends[other].send(message(301))
      await quiet()
      expect(heard[other].reasons).toHaveLength(1)
      expect(heard[side].reasons).toHaveLength(1)
    })

    test('nothing is delivered to an end that has closed', async () => {
      const { ends, heard } = await started()
      for (const index of upTo(200)) ends.right.send(message(index))
      heard.left.onEnvelope = ({ id }) => {
        if (id === '40') ends.left.close('enough')
      }
      await heard.right.untilClosed()
      await quiet()
      expect(ids(heard.left)).toEqual(upTo(41))
      expect(heard.left.order.at(-1)).toBe('closed')
    })

    test('an end that closes amid traffic loses nothing that it sent', async () => {
      const { ends, heard } = await started()
      const [count, size] = [3000, 1000]
      for (const index of upTo(count)) ends.right.send(message(index, 'r'.repeat(size)))
      for (const index of upTo(count)) ends.left.send(message(index, 'l'.repeat(size)))
      await heard.left.untilEnvelopes(100)
      ends.left.close('enough')
      await heard.right.untilClosed()
      await quiet()
      expect(ids(heard.right)).toEqual(upTo(count))
      expect(ids(heard.left)).toEqual(upTo(heard.left.envelopes.length))
      expect([heard.left.reasons.length, heard.right.reasons.length]).toEqual([1, 1])
      expect([heard.left.violations, heard.right.violations]).toEqual([[], []])
    })

    test('an end may close from within what it is told', async () => {
      const { ends, heard } = await started()
      heard.left.onEnvelope = () => ends.left.close('seen')
      for (const index of upTo(10)) ends.right.send(message(index))
      await heard.right.untilClosed()
      expect(ids(heard.left)).toEqual([0])
      expect(heard.left.reasons).toEqual(['seen'])
    })

    if (traits.keeps)
      test('a consumer that has no room left gets its turn before more is delivered', async () => {
        const { ends, heard } = await started()
        let inOneTurn = 0
        let most = 0
        heard.left.onEnvelope = () => {
          if (inOneTurn++ === 0)
            queueMicrotask(() => {
              most = Math.max(most, inOneTurn)
              inOneTurn = 0
            })
        }
        heard.left.full = () => inOneTurn >= callLimits.receiveBuffer
        for (const index of upTo(500)) ends.right.send(message(index))
        await heard.left.untilEnvelopes(500)
        await quiet()
        expect(ids(heard.left)).toEqual(upTo(500))
        expect(most).toBeLessThanOrEqual(callLimits.receiveBuffer)
      })

    if (traits.keeps)
      test('what came before the start, the end included, is told after it', async () => {
        const { left, right } = await pair()
        left.start(new Recorder())
        for (const index of upTo(100)) left.send(message(index))
        left.close('enough')
        await quiet()
        const heard = new Recorder()
        right.start(heard)
        await heard.untilClosed()
        expect(ids(heard)).toEqual(upTo(100))
        expect(heard.reasons).toHaveLength(1)
      })

    if (traits.queues)
      test('a sender sees what is queued, and hears when there is room', async () => {
        const { ends, heard } = await started()
        const atDrain = new Promise<number>(resolve => {
          heard.left.onDrain = () => resolve(ends.left.queued)
        })
        const megabyte = 'x'.repeat(1024 * 1024)
        for (const index of upTo(24)) ends.left.send(message(index, megabyte))
        expect(ends.left.queued).toBeGreaterThan(callLimits.highWater)
        expect(await atDrain).toBeLessThanOrEqual(callLimits.highWater)
        await heard.right.untilEnvelopes(24)
        expect(ids(heard.right)).toEqual(upTo(24))
      })

    if (!traits.queues)
      test('it never claims to be full: nobody would say when there is room', async () => {
        const { ends, heard } = await started()
        for (const index of upTo(4)) ends.left.send(message(index, 'x'.repeat(1024 * 1024)))
        expect(ends.left.queued).toBe(0)
        await heard.right.untilEnvelopes(4)
      })

    if (bytes)
      test('a body of just the limit is taken, a larger one ends the link', async () => {
        const limit = 1000
        const { ends, heard } = await started({ maxBody: limit })
        expect(ends.right.maxBody).toBe(limit)
        const padded = (size: number) => message(1, 'x'.repeat(size - message(1, '').length))
        ends.left.send(padded(limit))
        await heard.right.untilEnvelopes(1)
        ends.left.send(padded(limit + 1))
        await Promise.all([heard.left.untilClosed(), heard.right.untilClosed()])
        expect(heard.right.order).toEqual(['envelope', 'violation', 'closed'])
        expect(heard.right.violations[0]!.kind).toBe('too_large')
      })

    const malformed = [
      ['no JSON', 'not json', 'not_json'],
      ['no envelope', '{"type":"call.requested","id":"x"}', 'malformed'],
      ['no object', '[]', 'malformed'],
    ] as const

    if (traits.carries !== 'objects')
      test.each(malformed)('a message that is %s ends its link, and no other', async (_what, text, kind) => {
        const { ends, heard } = await started()
        const other = await started()
        ends.left.send(message(0))
        ends.left.send(text)
        ends.left.send(message(1))
        await Promise.all([heard.left.untilClosed(), heard.right.untilClosed()])
        await quiet()
        expect(heard.right.order).toEqual(['envelope', 'violation', 'closed'])
        expect(heard.right.violations[0]!.kind).toBe(kind)
        expect(heard.left.order).toEqual(['closed'])
        other.ends.left.send(message(5))
        await other.heard.right.untilEnvelopes(1)
        expect(ids(other.heard.right)).toEqual([5])
      })

    if (bytes)
      test('a message that nests too deeply ends its link', async () => {
        const { ends, heard } = await started()
        const depth = callLimits.nesting
        ends.left.send(`{"type":"t","id":"","payload":${'['.repeat(depth)}${']'.repeat(depth)}}`)
        await Promise.all([heard.left.untilClosed(), heard.right.untilClosed()])
        expect(heard.right.violations.map(({ kind }) => kind)).toEqual(['malformed'])
        expect(heard.right.envelopes).toEqual([])
      })
  })
}
