// A RunPort for tests: what a run does is a function, and everything that it was asked is kept.
import {
  err,
  type FoundRuns,
  ok,
  type ParleyError,
  type Principal,
  type Result,
  type RunEnd,
  type RunId,
  type RunPage,
  type RunPort,
  type RunRequest,
  refuse,
} from '@parley/core'

/** `signal` fires when the run is cancelled. */
export type Script = (request: RunRequest & { readonly signal: AbortSignal }) => AsyncGenerator<Part>
/** A page; `breaks` is what the watch throws in its place, after which the next watch goes on. */
export type Part = Pick<RunPage, 'text' | 'end'> & { readonly breaks?: ParleyError }

/** A turn of these parts. */
export function saying(...parts: Part[]): Script {
  return async function* () {
    yield* parts
  }
}

/** The end of a turn that said this. */
export function end(text: string, more: Partial<RunEnd> = {}): Part {
  return { end: { outcome: 'complete', ...(text !== '' && { text }), usage: {}, ...more } }
}

export const owner: Principal = { id: 'mira', kind: 'user', scopes: ['owner'] }

export class ScriptedRuns implements RunPort {
  readonly requests: RunRequest[] = []
  readonly cancelled: (readonly [by: string, reason: string])[] = []
  readonly watchedFrom: (number | undefined)[] = []
  refusal: ParleyError | undefined
  script: Script
  readonly #running = new Map<RunId, { readonly parts: AsyncGenerator<Part>; readonly stop: AbortController }>()

  constructor(
    script: Script = async function* ({ intent }) {
      yield { text: 'Hel' }
      yield { text: 'lo ✅' }
      yield end(`You said: ${intent}`, { usage: { tokensIn: 10, tokensOut: 5, usd: 0.25 } })
    },
  ) {
    this.script = script
  }

  async stored(): ReturnType<RunPort['stored']> {
    throw new Error('nobody asks how these runs began')
  }

  async start(request: RunRequest): Promise<Result<{ readonly run: RunId }>> {
    this.requests.push(request)
    if (this.refusal) return err(this.refusal)
    const stop = new AbortController()
    const run = `run-${this.requests.length}` as RunId
    this.#running.set(run, { parts: this.script({ ...request, signal: stop.signal }), stop })
    return ok({ run })
  }

  async *watch(run: RunId, { after = 0 }: { readonly after?: number }): AsyncGenerator<RunPage> {
    this.watchedFrom.push(after || undefined)
    const { parts } = this.#running.get(run)!
    for (let cursor = after + 1; ; cursor++) {
      const next = await parts.next()
      if (next.done) return
      const { breaks, ...page } = next.value
      if (breaks) throw breaks
      yield { events: [], cursor, ...page }
    }
  }

  async cancel(run: RunId, { principal, reason }: Parameters<RunPort['cancel']>[1]): Promise<Result<void>> {
    this.cancelled.push([principal === 'system' ? principal : principal.id, reason])
    this.#running.get(run)!.stop.abort()
    return ok(undefined)
  }

  async answer(waiting: string): Promise<Result<never>> {
    return refuse('not_found', `Nothing that waits is named '${waiting}'.`)
  }

  async find(): Promise<FoundRuns> {
    return { runs: [] }
  }
}

/** A turn that goes on until it is interrupted, then says what it had cost. */
export const endless: Script = async function* ({ signal }) {
  yield { text: 'thinking' }
  await aborted(signal)
  yield end('', { outcome: 'cancelled', usage: { tokensIn: 3, tokensOut: 1, usd: 0.125 } })
}

export function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise(resolve => signal.addEventListener('abort', () => resolve(), { once: true }))
}
