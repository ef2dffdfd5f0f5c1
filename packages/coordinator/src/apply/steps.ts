// Steps in a checkout, each whole or not at all: a journal file says what is under way, the house what was decided, and
// whatever a stop cut off is completed at the next start, or taken back where the checkout has moved on.
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { asParleyError, type Clock, err, ok, ParleyError, type Result, sharing } from '@parley/core'
import type { Log } from '../contract.ts'
import { Checkout } from '../folder/checkout.ts'
import { PlainFiles } from '../folder/plain-files.ts'
import { coordinatorLimits } from '../limits.ts'
import type { RunHomes } from '../run/run-homes.ts'
import { COPY } from '../view/view.ts'
import { carryOutCopy } from './copies.ts'
import { type HouseRecords, type Step, step } from './house-record.ts'

interface StepsHost {
  /** The profile's folder. */
  readonly profile: string
  readonly clock: Clock
  readonly stopping: AbortSignal
  readonly log: Log
  readonly homes: Pick<RunHomes, 'home'>
  readonly records: HouseRecords
}

export class Steps {
  readonly #host: StepsHost
  readonly #journal: string
  /** Steps that this process is taking. */
  readonly #underWay = new Set<string>()

  constructor(host: StepsHost) {
    this.#host = host
    this.#journal = join(host.profile, 'applying')
  }

  /** Recorded first, then done. A refusal leaves the checkout as it was, and the record says so. */
  async take(by: string, wanted: Step): Promise<Result<void>> {
    this.#underWay.add(wanted.id)
    try {
      await this.#write(by, wanted)
      const recorded = await this.#host.records.write(by, wanted)
      if (recorded.ok) return await this.#finish(by, wanted, false)
      await this.#forget(wanted.id)
      return recorded
    } finally {
      this.#underWay.delete(wanted.id)
    }
  }

  /** What a stop has cut off; whoever asks meanwhile waits for that. */
  readonly recover = sharing<void, void>(() => this.#recover())

  async #recover(): Promise<void> {
    for (const file of await readdir(this.#journal).catch(() => [])) {
      try {
        const { by, said } = readJournal(await readFile(join(this.#journal, file), 'utf8'))
        if (this.#underWay.has(said.id)) continue
        // Nothing is done before it is recorded.
        if (!(await this.#host.records.stands(said.id))) await this.#forget(said.id)
        else {
          this.#host.log('info', `going on with the ${said.parley} of ${said.run} in ${said.folder}`)
          const done = await this.#finish(by, said, true)
          const what = done.ok ? 'completed' : `took back (${done.error.message})`
          this.#host.log('info', `${what} the ${said.parley} of ${said.run} in ${said.folder} that a stop had cut off`)
        }
      } catch (cause) {
        this.#host.log('warn', `${file} in ${this.#journal} is left as it is: ${asParleyError(cause).message}`)
      }
    }
  }

  async #finish(by: string, wanted: Step, resumed: boolean): Promise<Result<void>> {
    try {
      const { homes, clock } = this.#host
      if (wanted.how === COPY)
        await carryOutCopy(wanted, await PlainFiles.open(wanted.folder, homes.home(wanted.run), clock))
      else await carryOut(wanted, this.#host, resumed)
      await this.#forget(wanted.id)
      return ok(undefined)
    } catch (cause) {
      const error = asParleyError(cause)
      // What is locked, or in the middle of something else, can be completed later.
      if (resumed && (error.retryable || error.code === 'repository_busy')) throw error
      const { id, run } = wanted
      await this.#host.records.write(by, {
        parley: 'step_failed',
        id,
        run,
        reason: error.message.slice(0, coordinatorLimits.reasonLength),
      })
      await this.#forget(id)
      return err(error)
    }
  }

  async #write(by: string, wanted: Step): Promise<void> {
    await mkdir(this.#journal, { recursive: true, mode: 0o700 })
    const file = join(this.#journal, `${wanted.id}.json`)
    await writeFile(`${file}.new`, JSON.stringify({ by, said: wanted }), { mode: 0o600, flush: true })
    await rename(`${file}.new`, file)
  }

  async #forget(id: string): Promise<void> {
    await rm(join(this.#journal, `${id}.json`), { force: true })
  }
}

function readJournal(text: string): { readonly by: string; readonly said: Step } {
  const { by, said } = JSON.parse(text) as { readonly by?: unknown; readonly said?: unknown }
  if (typeof by === 'string' && step.is(said)) return { by, said }
  throw new ParleyError('invalid_state', 'It is no step of this version.')
}

async function carryOut(
  { parley, run, folder, branch, from, to, head }: Step,
  { clock, stopping }: Pick<StepsHost, 'clock' | 'stopping'>,
  resumed: boolean,
) {
  const found = await Checkout.open(folder, clock)
  if (resumed) await found.idle(stopping)
  const checkout = resumed ? await found.again() : found
  // The branch moves last: where it has moved, all is done.
  if (resumed && head === undefined && (await isBehind(checkout, from, to))) return
  const moved = new ParleyError('repository_moved', `The branch of ${folder} has moved on meanwhile. Try again.`)
  const begun = head ?? from
  const hasMoved = checkout.branch !== branch || checkout.head !== begun
  if (hasMoved && !resumed) throw moved
  try {
    if (hasMoved) throw moved
    if (resumed) await checkout.settle(from, to)
    else await checkout.move(from, to)
    if (head === undefined && !(await checkout.moveBranch(from, to, `parley ${parley}: ${run}`))) throw moved
  } catch (cause) {
    await checkout.putBack(from, to, begun)
    throw cause
  }
}

async function isBehind(checkout: Checkout, from: string, to: string): Promise<boolean> {
  if (checkout.head === to) return true
  // A step back is not done because the commit before it is still there.
  return (await checkout.isAncestor(to, checkout.head)) && !(await checkout.isAncestor(to, from))
}
