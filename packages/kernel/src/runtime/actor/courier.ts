// Carries accepted mail: one envelope of a channel at a time, four attempts at the times of W-ENV-14. Attempts are not
// on record; a restart begins anew.
import {
  type CancelTimer,
  type Clock,
  durationMs,
  type EnvelopeId,
  type Result,
  type SignalId,
  type Ticks,
  type WorkspaceId,
} from '@parley/core'
import type { Command } from '../../command.ts'
import { channelHead, holdsMail, isBlockedByMail } from '../../envelope/deliver.ts'
import { kernelLimits } from '../../limits.ts'
import { plain } from '../../plain.ts'
import type { Run } from '../../run/run.ts'
import { deliverableSignals } from '../../signal/signal.ts'
import type { Delivery, Transport } from './transport.ts'

/** Three redeliveries, four attempts in all; the waits before them grow by one base each (W-ENV-14). */
const REDELIVERIES = 3

interface Attempt {
  readonly key: string
  readonly delivery: Delivery
  count: number
  arriving: number
  arrived: boolean
  cancel: CancelTimer | undefined
  wait: number
  since: Ticks
  held: boolean
}

interface CourierOptions {
  readonly clock: Clock
  readonly transport: Transport
  readonly base: number
  readonly submit: (command: Command) => Promise<Result<unknown>>
}

export class Courier {
  readonly #options: CourierOptions
  readonly #attempts = new Map<string, Attempt>()
  /** Placed without the transport's confirmation: carried again, while their channels continue (W-ENV-16). */
  readonly #placed = new Map<string, Attempt>()

  constructor(options: CourierOptions) {
    this.#options = options
  }

  /** Carries the head of a channel if it is on disk: `durable` is the newest such `seq`. */
  look(run: Run, from: WorkspaceId, to: WorkspaceId, durable: number): void {
    const key = `envelope ${from} ${to}`
    const head = channelHead(run, from, to)
    const current = this.#attempts.get(key)
    if (current && current.delivery.id === run.workspaces.get(to)?.incoming?.get(from)?.[0]) {
      if (head) this.#release(current)
      else this.#hold(current)
      return
    }
    if (current) this.#leaveChannel(run, current, durable)
    if (!head || head.seq > durable) return
    const again = this.#placed.get(head.id)
    if (again) {
      // Its placement did not become durable after all.
      this.#placed.delete(head.id)
      this.#attempts.set(key, again)
    } else this.#carry(key, { kind: 'envelope', id: head.id, from, to, envelope: head.record })
  }

  lookInto(run: Run, to: WorkspaceId, durable: number): void {
    const receiver = run.workspaces.get(to)
    if (!receiver) return
    for (const from of receiver.incoming?.keys() ?? []) this.look(run, from, to, durable)
    if (!holdsMail(receiver)) return
    for (const attempt of this.#placed.values()) if (attempt.delivery.to === to) this.#end(attempt)
  }

  lookForSignals(run: Run, durable: number): void {
    if (!this.#options.transport.signals) return
    for (const { id, from, to, seq } of deliverableSignals(run)) {
      const key = `signal ${from.id} ${to.id}`
      const current = this.#attempts.get(key)
      if (current?.delivery.id === id || seq > durable) continue
      if (current) this.#end(current)
      this.#carry(key, { kind: 'signal', id, from: from.id, to: to.id })
    }
  }

  stop(): void {
    for (const attempts of [this.#attempts, this.#placed]) {
      for (const attempt of attempts.values()) attempt.cancel?.()
      attempts.clear()
    }
  }

  #leaveChannel(run: Run, attempt: Attempt, durable: number): void {
    const { key, delivery } = attempt
    const envelope = run.envelopes.get(delivery.id as EnvelopeId)
    // What was not placed is done with: given up, rejected, or no head any more.
    if (envelope?.status !== 'delivered' && envelope?.status !== 'acknowledged') {
      this.#end(attempt)
      return
    }
    this.#attempts.delete(key)
    this.#placed.set(delivery.id, attempt)
    const [oldest] = this.#placed.values()
    if (oldest && this.#placed.size > kernelLimits.unconfirmed) this.#end(oldest)
    // It may have filled the inbox, or be one that keeps others out: then time stands still for the other channels.
    const receiver = run.workspaces.get(delivery.to)
    if (receiver && (holdsMail(receiver) || isBlockedByMail(receiver))) this.lookInto(run, delivery.to, durable)
  }

  #carry(key: string, delivery: Delivery): void {
    const attempt: Attempt = {
      key,
      delivery,
      count: 0,
      arriving: 0,
      arrived: false,
      cancel: undefined,
      wait: 0,
      since: this.#options.clock.now(),
      held: false,
    }
    this.#attempts.set(key, attempt)
    this.#try(attempt)
  }

  #try(attempt: Attempt): void {
    const { base } = this.#options
    this.#wait(attempt, attempt.count >= REDELIVERIES ? base : (attempt.count + 1) * base)
    void this.#travel(attempt)
  }

  async #travel(attempt: Attempt): Promise<void> {
    try {
      await this.#options.transport.carry(attempt.delivery, arrived => this.#arrive(attempt, arrived))
    } catch {
      // Not confirmed: the timer decides.
      return
    }
    if (attempt.arrived) this.#end(attempt)
  }

  async #arrive(attempt: Attempt, arrived: unknown): Promise<void> {
    const { id, to, kind } = attempt.delivery
    const command: Command =
      kind === 'envelope'
        ? {
            type: 'arrive',
            envelope: id as EnvelopeId,
            // What is no JSON is no envelope either: its proof fails.
            ...(arrived !== undefined && { arrived: plain(arrived) ?? null }),
          }
        : { type: 'arrive_signal', signal: id as SignalId, to }
    attempt.arriving++
    const result = await this.#options.submit(command)
    attempt.arriving--
    if (!result.ok) {
      if (result.error.code === 'invalid_state') this.#turnedAway(attempt)
      throw result.error
    }
    attempt.arrived = true
  }

  /** It came while its receiver holds mail, or before its turn, which counts as no attempt (W-ENV-11). */
  #turnedAway(attempt: Attempt): void {
    attempt.count = Math.max(attempt.count - 1, -1)
    if (attempt.held) attempt.wait = 0
  }

  #wait(attempt: Attempt, milliseconds: number): void {
    const { clock } = this.#options
    attempt.wait = milliseconds
    attempt.since = clock.now()
    if (attempt.held) return
    attempt.cancel = clock.after(milliseconds, () => this.#due(attempt))
  }

  /** W-ENV-14: clocks stop while the target holds mail. */
  #hold(attempt: Attempt): void {
    if (attempt.held) return
    attempt.held = true
    attempt.cancel?.()
    const passed = durationMs(attempt.since, this.#options.clock.now())
    attempt.wait = Math.max(0, attempt.wait - Math.max(0, passed))
  }

  #release(attempt: Attempt): void {
    if (!attempt.held) return
    attempt.held = false
    if (attempt.wait === 0) this.#due(attempt)
    else this.#wait(attempt, attempt.wait)
  }

  #due(attempt: Attempt): void {
    const { delivery, count } = attempt
    // What has arrived and waits for the trail is not lost on the way: it is neither carried again nor given up.
    if (attempt.arriving > 0) this.#wait(attempt, this.#options.base)
    else if (count >= REDELIVERIES && delivery.kind === 'envelope') void this.#giveUp(attempt, delivery.id)
    else {
      // A signal is never given up (W-SIG-06).
      attempt.count = Math.min(count + 1, REDELIVERIES)
      this.#try(attempt)
    }
  }

  async #giveUp(attempt: Attempt, envelope: EnvelopeId): Promise<void> {
    const result = this.#placed.has(envelope) ? undefined : await this.#options.submit({ type: 'exhaust', envelope })
    if (result && !result.ok && result.error.retryable) this.#wait(attempt, this.#options.base)
    else this.#end(attempt)
  }

  #end(attempt: Attempt): void {
    attempt.cancel?.()
    for (const [attempts, key] of [
      [this.#attempts, attempt.key],
      [this.#placed, attempt.delivery.id],
    ] as const)
      if (attempts.get(key) === attempt) attempts.delete(key)
  }
}
