// Carries accepted mail to its receivers: one envelope of a channel at a time, again at the times of W-ENV-14, given up after the
// fourth attempt. Attempts are not on record; after a restart each envelope starts anew.
import type { CancelTimer, Clock, EnvelopeId, Result, SignalId, WorkspaceId } from '@parley/core'
import type { Command } from '../command.ts'
import { channelHead } from '../envelope/deliver.ts'
import type { Run } from '../run/run.ts'
import { deliverableSignals } from '../signal/emit.ts'
import type { Delivery, Transport } from './transport.ts'

/** Three redeliveries, four attempts in all; the waits before them grow by one base each (W-ENV-14). */
const REDELIVERIES = 3

interface Attempt {
  readonly delivery: Delivery
  /** How many redeliveries were made. */
  count: number
  cancel: CancelTimer | undefined
}

export interface CourierOptions {
  readonly clock: Clock
  readonly transport: Transport
  /** Milliseconds; the base of all waits. */
  readonly base: number
  readonly submit: (command: Command) => Promise<Result<unknown>>
}

export class Courier {
  readonly #options: CourierOptions
  readonly #attempts = new Map<string, Attempt>()

  constructor(options: CourierOptions) {
    this.#options = options
  }

  /** Looks whether a channel has something to carry. Only what is on disk is carried: `durable` is the newest such `seq`. */
  look(run: Run, from: WorkspaceId, to: WorkspaceId, durable: number): void {
    const key = `envelope ${from} ${to}`
    const head = channelHead(run, from, to)
    const current = this.#attempts.get(key)
    if (current && current.delivery.id === head?.id) return
    if (current) this.#end(key, current)
    if (!head || head.seq > durable) return
    this.#carry(key, { kind: 'envelope', id: head.id, from, to })
  }

  /** The same for every channel that ends at a workspace. */
  lookInto(run: Run, to: WorkspaceId, durable: number): void {
    for (const from of run.workspaces.get(to)?.incoming?.keys() ?? []) this.look(run, from, to, durable)
  }

  /** Signals, where the transport carries them: one of each pair at a time, in order of emission. */
  lookForSignals(run: Run, durable: number): void {
    if (!this.#options.transport.signals) return
    for (const { id, from, to, seq } of deliverableSignals(run)) {
      const key = `signal ${from.id} ${to.id}`
      const current = this.#attempts.get(key)
      if (current?.delivery.id === id || seq > durable) continue
      if (current) this.#end(key, current)
      this.#carry(key, { kind: 'signal', id, from: from.id, to: to.id })
    }
  }

  stop(): void {
    for (const attempt of this.#attempts.values()) attempt.cancel?.()
    this.#attempts.clear()
  }

  #carry(key: string, delivery: Delivery): void {
    const attempt: Attempt = { delivery, count: 0, cancel: undefined }
    this.#attempts.set(key, attempt)
    this.#try(key, attempt)
  }

  #try(key: string, attempt: Attempt): void {
    const { clock, transport, base } = this.#options
    const last = attempt.count >= REDELIVERIES
    attempt.cancel = clock.after(last ? base : (attempt.count + 1) * base, () => {
      if (last && attempt.delivery.kind === 'envelope') {
        this.#end(key, attempt)
        this.#exhaust(attempt.delivery.id)
        return
      }
      // A signal is never given up (W-SIG-06).
      if (!last) attempt.count++
      this.#try(key, attempt)
    })
    transport
      .carry(attempt.delivery, () => this.#arrive(attempt.delivery))
      .then(
        () => this.#end(key, attempt),
        // Not confirmed: the timer decides.
        () => undefined,
      )
  }

  async #arrive(delivery: Delivery): Promise<void> {
    const { submit } = this.#options
    const { id, to } = delivery
    const command: Command =
      delivery.kind === 'envelope'
        ? { type: 'arrive', envelope: id as EnvelopeId }
        : { type: 'arrive_signal', signal: id as SignalId, to }
    const result = await submit(command)
    if (!result.ok) throw result.error
  }

  /** Retries, since an envelope must not be lost silently: a trail that is away for now answers later. */
  #exhaust(envelope: EnvelopeId): void {
    const { submit, clock, base } = this.#options
    void submit({ type: 'exhaust', envelope }).then(result => {
      if (!result.ok && result.error.retryable) clock.after(base, () => this.#exhaust(envelope))
    })
  }

  #end(key: string, attempt: Attempt): void {
    attempt.cancel?.()
    if (this.#attempts.get(key) === attempt) this.#attempts.delete(key)
  }
}
