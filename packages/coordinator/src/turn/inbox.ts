// The mail of a workspace: taken once; what no finished turn has dealt with is for the next one.
import { type EnvelopeId, ok, type Result, unwrap } from '@parley/core'
import type { EnvelopeRecord, RunHandle, Worker } from '@parley/kernel'
import type { WaitingMail, WorkspaceMail } from '../contract.ts'
import { parsedJson } from '../projection/control.ts'

export class Inbox {
  readonly #run: RunHandle
  readonly #worker: Worker
  /** At hand for the turn: reading it back from the record takes longer. */
  readonly #letters = new Map<EnvelopeId, WorkspaceMail>()

  constructor(run: RunHandle, worker: Worker) {
    this.#run = run
    this.#worker = worker
  }

  /** The next mail, which is handed out once. */
  async consume(): Promise<Result<WorkspaceMail | undefined>> {
    const next = await this.#worker.consume()
    return next.ok ? ok(next.value && mailOf(next.value)) : next
  }

  /** Everything that is not handled; waits if there is nothing. Undefined if the signal fires first. */
  async unhandled(
    handled: readonly EnvelopeId[],
    signal: AbortSignal,
  ): Promise<readonly EnvelopeId[] | 'paused' | undefined> {
    for (;;) {
      // Reaching for mail while the workspace is paused would be on record as a denial.
      if (await this.#isPaused()) return 'paused'
      for (;;) {
        const next = await this.consume()
        if (isPaused(next)) return 'paused'
        if (isForged(next)) continue
        const mail = unwrap(next)
        if (!mail) break
        this.#hold(mail)
      }
      const consumed = await this.#run.read(run =>
        [...run.envelopes.values()]
          .filter(each => each.to === this.#worker.workspace && each.consumed && !each.forged)
          .map(each => each.id),
      )
      const open = consumed.filter(id => !handled.includes(id))
      if (open.length > 0) return open
      const next = await this.#worker.receive(signal)
      if (!next.ok && signal.aborted) return undefined
      if (isPaused(next)) return 'paused'
      if (isForged(next)) continue
      this.#hold(mailOf(unwrap(next)))
    }
  }

  #isPaused(): Promise<boolean> {
    return this.#run.read(run => {
      const status = run.workspaces.get(this.#worker.workspace)?.status
      return status === 'suspended' || status === 'migrating'
    })
  }

  #hold(mail: WorkspaceMail): void {
    this.#letters.set(mail.id as EnvelopeId, mail)
  }

  /** Mail that has been handed out already. */
  async letter(id: EnvelopeId): Promise<WorkspaceMail> {
    const held = this.#letters.get(id)
    if (held) return held
    const origin = await this.#run.read(run => run.envelopes.get(id)!.origin)
    return mailOf({ ...unwrap(await this.#worker.readEnvelope(id)), id, origin })
  }

  clear(): void {
    this.#letters.clear()
  }

  /** Mail that has come and that nobody has taken; it stays where it is. */
  async waiting(): Promise<Result<readonly WaitingMail[]>> {
    const view = await this.#worker.look()
    if (!view.ok) return view
    const { inbox } = view.value
    return ok(await this.#run.read(run => inbox.flatMap(id => run.envelopes.get(id) ?? []).map(headOf)))
  }

  /** Whether mail comes before the signal fires. */
  arrival(signal: AbortSignal): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const off = this.#worker.subscribe(notice => {
      if (notice.kind === 'mail' && notice.to === this.#worker.workspace) resolve(true)
    })
    const stop = () => resolve(false)
    signal.addEventListener('abort', stop, { once: true })
    if (signal.aborted) stop()
    return promise.finally(() => {
      off()
      signal.removeEventListener('abort', stop)
    })
  }

  fromPerson(mail: readonly EnvelopeId[]): Promise<boolean> {
    return this.#run.read(run => mail.some(id => run.envelopes.get(id)?.origin === 'human'))
  }
}

/** Who is suspended reads no mail. */
function isPaused(result: Result<unknown>): boolean {
  return !result.ok && result.error.code === 'invalid_state'
}

/** Mail that was changed at rest: that is on record, and nobody gets it. */
function isForged(result: Result<unknown>): boolean {
  return !result.ok && result.error.details.reason === 'integrity_violation'
}

type Sent = Pick<EnvelopeRecord, 'id' | 'from' | 'type' | 'priority' | 'origin'>
type Letter = Sent & { readonly payload?: EnvelopeRecord['payload'] | null }

function mailOf({ payload, ...sent }: Letter): WorkspaceMail {
  return { ...headOf(sent), text: payload ? wordsOf(payload) : '' }
}

/** A person writes in the name of a workspace, whose id says nothing to an agent. */
function headOf({ id, from, type, priority, origin }: Sent): WaitingMail {
  return { id, from: origin === 'human' ? 'a person' : from, type, priority }
}

/** What the runtime says in JSON, in words (W-TERM-02). */
function wordsOf({ format, content }: EnvelopeRecord['payload']): string {
  if (format !== 'json') return content
  const { intent, grace_period: period } = (parsedJson(content) ?? {}) as Readonly<Record<string, unknown>>
  if (intent !== 'graceful_termination' || typeof period !== 'number') return content
  return `You are asked to finish (graceful_termination): you have ${Math.ceil(period / 1000)} s in all. Bring what you have to a good end and end your turn; what your folder holds then is your result. If you cannot, save a checkpoint of what is worth keeping. After that time the work is ended.`
}
