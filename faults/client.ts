// The clients of a node: they start runs, watch them, answer gates, and keep in the journal what they were told. They
// live through every restart of the node, as people and programs do.
import type { NodeConnection } from '@parley/node/commands'
import type { Dice } from '../sim/random.ts'
import type { Journal, ToldRun } from './journal.ts'
import { faultTimes } from './limits.ts'
import { pause } from './waiting.ts'
import { TEAMS } from './work.ts'
import type { World } from './world.ts'

/** An answer of the node, as `Client.invoke` resolves to. */
export interface Answer<T> {
  readonly result:
    | { readonly ok: true; readonly value: T }
    | { readonly ok: false; readonly error: { readonly code: string; readonly message: string } }
}

/** Milliseconds between two looks of somebody who answers gates. */
const GATES_LOOK = 60
/** Milliseconds after which a stream that broke off is asked for again. */
const AGAIN = 20

const OVER = ['done', 'failed', 'rejected', 'aborted']

export class Clients {
  readonly #world: World
  readonly #journal: Journal
  readonly #dice: Dice
  readonly #ended = new AbortController()
  readonly #watches = new Map<string, AbortController>()
  #intents = 0

  constructor(world: World, journal: Journal, dice: Dice) {
    this.#world = world
    this.#journal = journal
    this.#dice = dice
    void this.#answerGates()
  }

  close(): void {
    this.#ended.abort()
    for (const each of this.#watches.values()) each.abort()
  }

  /** What the node answers; undefined where it refuses, is away, or the answer is lost. */
  async ask<T>(
    what: string,
    send: (client: NodeConnection['client']) => Promise<Answer<T>>,
    refused: (code: string) => void = () => undefined,
  ): Promise<T | undefined> {
    const { client } = this.#world
    if (!client) return undefined
    const began = performance.now()
    const { result } = await send(client)
    const took = Math.round(performance.now() - began)
    if (result.ok) {
      this.#journal.note(`${what}: answered after ${took} ms`)
      return result.value
    }
    const { code, message } = result.error
    refused(code)
    this.#journal.note(`${what}: ${code} after ${took} ms: ${message}`)
    if (took >= faultTimes.call) this.#journal.found(`${what} had no answer in ${took} ms`)
    else if (code === 'INTERNAL' && message !== 'connection closed')
      this.#journal.found(`${what} failed without a code that says why: ${message}`)
    return undefined
  }

  /** Whether it was taken. */
  async startRun(): Promise<boolean> {
    const team = this.#dice.pick(TEAMS)
    const intent = `Write lines, ${++this.#intents}.`
    const { project } = this.#world
    if (!this.#world.client) return false
    this.#journal.intents.set(intent, false)
    const started = await this.ask(`start of a ${team.name} run`, client =>
      client.invoke(
        'solve',
        'start',
        {
          intent,
          project,
          team: { text: team.text, file: `${project}/parley.yaml` },
          approved: true,
          force: true,
        },
        { type: 'mutation', timeout: faultTimes.call },
      ),
    )
    if (started) this.adopt(started.run, intent, team)
    return started !== undefined
  }

  /** Watches a run, one whose start was never acknowledged included. */
  adopt(run: string, intent: string, team: { readonly tasks: readonly string[]; readonly gated: boolean }): void {
    this.#journal.intents.set(intent, true)
    this.#journal.note(`${run} began: ${intent}`)
    const told = this.#journal.began(run, { intent, tasks: team.tasks, gated: team.gated })
    void this.#watch(told)
    void this.#follow(told)
  }

  /** Nothing more of it is watched. */
  retire(told: ToldRun): void {
    told.retired = true
    this.#watches.get(told.run)?.abort()
    this.#watches.delete(told.run)
  }

  async #watch(told: ToldRun): Promise<void> {
    const { run } = told
    const ended = new AbortController()
    this.#watches.set(run, ended)
    const options = { signal: ended.signal, buffer: 64 }
    while (!ended.signal.aborted) {
      const client = await this.#world.up()
      try {
        for await (const { entries } of client.subscribe('trail', 'watch', { run, after: told.cursor }, options))
          this.#journal.delivered(told, entries)
      } catch (thrown) {
        if (!ended.signal.aborted) this.#journal.note(`watch of ${run}: ${said(thrown)}`)
      }
      await pause(AGAIN)
    }
  }

  async #follow(told: ToldRun): Promise<void> {
    const { run } = told
    const options = { signal: this.#ended.signal, buffer: 64 }
    while (!told.over && !this.#ended.signal.aborted) {
      const client = await this.#world.up()
      try {
        for await (const view of client.subscribe('runs', 'follow', { run }, options)) {
          this.#journal.viewed(told, view)
          if (!OVER.includes(view.state)) continue
          told.over = true
          this.#journal.note(`${run} is over: ${view.state}`)
        }
      } catch (thrown) {
        if (!this.#ended.signal.aborted) this.#journal.note(`follow of ${run}: ${said(thrown)}`)
      }
      await pause(AGAIN)
    }
  }

  /** A person who looks now and then, and approves. */
  async #answerGates(): Promise<void> {
    while (!this.#ended.signal.aborted) {
      await pause(GATES_LOOK)
      if (!this.#journal.atWork.some(({ gated }) => gated)) continue
      const listed = await this.ask('gates', client =>
        client.invoke('gates', 'list', {}, { type: 'query', timeout: faultTimes.call }),
      )
      for (const { id: gate, run } of listed?.gates ?? []) {
        const answered = await this.ask(`approval of ${gate}`, client =>
          client.invoke(
            'gates',
            'respond',
            { gate, decision: 'approve' },
            { type: 'mutation', timeout: faultTimes.call },
          ),
        )
        if (!answered) continue
        if (this.#journal.gates.has(gate)) this.#journal.found(`gate ${gate} was answered twice`)
        this.#journal.gates.set(gate, run)
      }
    }
  }
}

export function said(thrown: unknown): string {
  const { code, message } = thrown as { readonly code?: string; readonly message?: string }
  return `${code ?? 'no code'}: ${message ?? String(thrown)}`
}
