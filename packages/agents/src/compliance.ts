// The suite that every AgentAdapter passes. An adapter is made to play one of four parts, so that the suite can ask the
// same of a program, a function or anything else.
import {
  type AgentAdapter,
  ParleyError,
  type RunId,
  SystemIds,
  type TurnEvent,
  type TurnInput,
  type WorkspaceId,
} from '@parley/core'
import { describe, expect, onTestFinished, test } from 'vitest'

/**
 * What the agent does in its turn:
 * - `answers`: says `one`, `two`, `three` as texts, reports 10 tokens in and 5 out, ends with the text `done <prompt>`.
 * - `fails`: reports 10 tokens in and 5 out, then fails.
 * - `blocks`: waits for the reason `needs a key`.
 * - `hangs`: says `started` and goes on for ever, with children if it can have any.
 */
export type Part = 'answers' | 'fails' | 'blocks' | 'hangs'

export interface AdapterUnderTest {
  readonly adapter: AgentAdapter
  /** The folder that the turns get. */
  readonly folder?: string
  /** How much of what the adapter started for the turns of this run is still running. */
  running(run: RunId): number | Promise<number>
  dispose?(): void | Promise<void>
}

export type MakeAdapter = (part: Part) => AdapterUnderTest | Promise<AdapterUnderTest>

const USAGE = { tokensIn: 10, tokensOut: 5 }

/** What could still come, has come. */
async function quiet(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise(resolve => setImmediate(resolve))
}

/** One turn with everything that was heard of it. */
class Watched {
  readonly controller = new AbortController()
  readonly events: TurnEvent[] = []
  late = 0
  ended = false
  readonly result: ReturnType<AgentAdapter['takeTurn']>
  /** The first event is there. */
  readonly started: Promise<void>

  constructor(
    adapter: AgentAdapter,
    input: TurnInput,
    options: { readonly throws?: boolean; readonly aborted?: ParleyError } = {},
  ) {
    let begin = () => {}
    this.started = new Promise(resolve => {
      begin = resolve
    })
    if (options.aborted) this.controller.abort(options.aborted)
    this.result = adapter.takeTurn({ ...input, signal: this.controller.signal }, event => {
      if (this.ended) this.late += 1
      this.events.push(event)
      begin()
      if (options.throws) throw new Error('a watcher that fails')
    })
    const end = () => {
      this.ended = true
    }
    this.result.then(end, end)
  }

  texts(): string[] {
    return this.events.flatMap(event => (event.type === 'text' ? [event.text] : []))
  }
}

export function agentAdapterCompliance(name: string, make: MakeAdapter): void {
  const ids = new SystemIds()
  let turns = 0

  async function playing(part: Part) {
    const made = await make(part)
    onTestFinished(async () => {
      await made.adapter.close()
      await made.dispose?.()
    })
    const run = ids.next('run') as RunId
    const input = (): TurnInput => ({
      run,
      workspace: ids.next('ws') as WorkspaceId,
      agent: 'tester#1',
      epoch: 1,
      prompt: `turn ${++turns}`,
      context: [],
      ...(made.folder !== undefined && { folder: made.folder }),
      signal: new AbortController().signal,
    })
    const take = (options?: { readonly throws?: boolean; readonly aborted?: ParleyError }) =>
      new Watched(made.adapter, input(), options)
    return { adapter: made.adapter, take, running: () => made.running(run) }
  }

  const reason = new ParleyError('operator', 'somebody pressed the button')

  describe(`${name} is an agent adapter`, () => {
    test('it says its name and what it is', async () => {
      const { adapter } = await playing('answers')
      expect(adapter.name).not.toBe('')
      expect(adapter.kind).toMatch(/^[a-z]+$/)
    })

    test('a turn gives its events in order, then one result, then nothing', async () => {
      const { take, running } = await playing('answers')
      const turn = take()
      const result = await turn.result
      const heard = turn.events.length
      expect(turn.texts().slice(0, 3)).toEqual(['one', 'two', 'three'])
      expect(result).toMatchObject({ outcome: 'complete', text: `done turn ${turns}`, usage: USAGE })
      await quiet()
      expect([turn.events.length, turn.late]).toEqual([heard, 0])
      expect(await running()).toBe(0)
    })

    test('an agent that fails is a result: failed, with an error and what it had used', async () => {
      const { take, running } = await playing('fails')
      const result = await take().result
      expect(result).toMatchObject({ outcome: 'failed', usage: USAGE })
      const error = result.outcome === 'failed' ? result.error : undefined
      expect(error).toBeInstanceOf(ParleyError)
      expect(error!.code).not.toBe('aborted')
      expect(await running()).toBe(0)
    })

    test('an agent that waits for something is blocked, with the reason', async () => {
      const { take } = await playing('blocks')
      expect(await take().result).toMatchObject({ outcome: 'blocked', reason: 'needs a key' })
    })

    test('a turn whose signal has fired already does not begin', async () => {
      const { take, running } = await playing('answers')
      const turn = take({ aborted: reason })
      expect(await turn.result).toMatchObject({ outcome: 'failed', error: { code: 'aborted' }, usage: {} })
      await quiet()
      expect(turn.events).toEqual([])
      expect(await running()).toBe(0)
    })

    test('an abort in the moment of the start ends the turn', async () => {
      const { take, running } = await playing('hangs')
      const turn = take()
      turn.controller.abort(reason)
      expect(await turn.result).toMatchObject({ outcome: 'failed', error: { code: 'aborted' } })
      expect(await running()).toBe(0)
    })

    test('an abort ends a turn that runs, and nothing of it is left', async () => {
      const { take, running } = await playing('hangs')
      const turn = take()
      await turn.started
      expect(await running()).toBeGreaterThan(0)
      turn.controller.abort(reason)
      const result = await turn.result
      expect(result).toMatchObject({ outcome: 'failed', error: { code: 'aborted', cause: reason } })
      expect(await running()).toBe(0)
      await quiet()
      expect(turn.late).toBe(0)
    })

    test('an abort may be repeated, and may come after the end', async () => {
      const { take, running } = await playing('hangs')
      const turn = take()
      await turn.started
      turn.controller.abort(reason)
      turn.controller.abort(reason)
      turn.controller.signal.dispatchEvent(new Event('abort'))
      const result = await turn.result
      turn.controller.signal.dispatchEvent(new Event('abort'))
      await quiet()
      expect(result).toMatchObject({ outcome: 'failed', error: { code: 'aborted' } })
      expect(await running()).toBe(0)
    })

    test('turns overlap, and each keeps its own answer', async () => {
      const { take } = await playing('answers')
      const before = turns
      const taken = Array.from({ length: 6 }, () => take())
      const results = await Promise.all(taken.map(({ result }) => result))
      expect(results.map(result => result.outcome === 'complete' && result.text)).toEqual(
        taken.map((_, index) => `done turn ${before + 1 + index}`),
      )
      for (const turn of taken) expect(turn.texts().slice(0, 3)).toEqual(['one', 'two', 'three'])
    })

    test('an abort ends one turn and no other', async () => {
      const { take, running } = await playing('hangs')
      const [first, second] = [take(), take()]
      await Promise.all([first.started, second.started])
      first.controller.abort(reason)
      await first.result
      await quiet()
      expect(second.ended).toBe(false)
      expect(await running()).toBeGreaterThan(0)
      second.controller.abort(reason)
      await second.result
      expect(await running()).toBe(0)
    })

    test('close aborts the turns that run, waits for them, and may be called twice', async () => {
      const { adapter, take, running } = await playing('hangs')
      const taken = [take(), take()]
      await Promise.all(taken.map(({ started }) => started))
      const closing = [adapter.close(), adapter.close()]
      await Promise.all(closing)
      expect(taken.map(({ ended }) => ended)).toEqual([true, true])
      for (const { result } of taken)
        expect(await result).toMatchObject({ outcome: 'failed', error: { code: 'aborted' } })
      expect(await running()).toBe(0)
      await adapter.close()
    })

    test('a turn after close fails with the code closed', async () => {
      const { adapter, take, running } = await playing('answers')
      await adapter.close()
      const turn = take()
      expect(await turn.result).toMatchObject({ outcome: 'failed', error: { code: 'closed' }, usage: {} })
      expect(turn.events).toEqual([])
      expect(await running()).toBe(0)
    })

    test('a watcher that throws does not break the turn', async () => {
      const { take } = await playing('answers')
      const turn = take({ throws: true })
      expect(await turn.result).toMatchObject({
        outcome: 'complete',
        text: `done turn ${turns}`,
        usage: USAGE,
      })
      expect(turn.texts().slice(0, 3)).toEqual(['one', 'two', 'three'])
    })
  })
}
