// Results of projects that are no git repository: written into the project's folder, and taken back there. Only files
// that are as the run found them, or as an earlier apply left them, are written.
import { err, ok, ParleyError, type Result, type RunId, refuse } from '@parley/core'
import { nameText } from '../folder/files/file-name.ts'
import { PlainFiles } from '../folder/plain-files.ts'
import { inTurn } from '../folder/turns.ts'
import { given } from '../given.ts'
import type { RunsHost } from '../run/runs-host.ts'
import type { RunView } from '../view/view.ts'
import type { AppliedView, UndoneView } from './applies.ts'
import type { Application, HouseRecords, Step } from './house-record.ts'
import { notableChanges } from './notable.ts'

type Wanted = {
  readonly accept: boolean
  readonly check: boolean
  readonly partial?: AppliedView['partial']
  /** Records the step and carries it out. */
  readonly take: (step: Step) => Promise<Result<void>>
  readonly unconfirmed: (notable: AppliedView['notable']) => Result<never>
}

export class Copies {
  readonly #host: Pick<RunsHost, 'homes' | 'clock' | 'ids'>
  readonly #records: HouseRecords

  constructor(host: Pick<RunsHost, 'homes' | 'clock' | 'ids'>, records: HouseRecords) {
    this.#host = host
    this.#records = records
  }

  apply(view: RunView, { accept, check, partial, take, unconfirmed }: Wanted): Promise<Result<AppliedView>> {
    return this.#inFolder<AppliedView>(view.project, view.run as RunId, async files => {
      const { base, commit: to } = view.result!
      const run = view.run as RunId
      const standing = (await this.#records.applications(run)).findLast(
        each => each.how === 'copy' && each.undone === undefined && each.to !== to,
      )
      // What was salvaged after an apply comes on top of it.
      const isOnTop =
        standing !== undefined && (await files.compare(await files.changes(base, standing.to))).open.length === 0
      const from = isOnTop ? standing.to : base
      const { open, foreign } = await files.compare(await files.changes(from, to))
      const about = { run, how: 'copy' as const, folder: files.top, from, to }
      if (foreign.length > 0) return overlap(files.top, foreign.map(nameText), `changes that ${run} did not see`)
      if (open.length === 0) return ok({ ...about, already: true, files: [], notable: [] })
      const names = open.map(({ name }) => name)
      const notable = await notableChanges(files, names, { from, to })
      const seen = { ...about, already: false, files: names.map(nameText), notable, ...given({ partial }) }
      if (check) return ok(seen)
      if (!accept && partial) {
        const message = `The run ${run} is ${partial.state}: its result may lack the work of some tasks.`
        return err(new ParleyError('unconfirmed', message, { details: { partial, notable } }))
      }
      if (!accept && notable.length > 0) return unconfirmed(notable)
      const taken = await take({
        parley: 'apply',
        id: this.#host.ids.next('apply'),
        run,
        how: 'copy',
        folder: files.top,
        from,
        to,
        result: to,
      })
      return taken.ok ? ok(seen) : taken
    })
  }

  /** Of a run, or what was applied last in this folder. */
  async newest(run: RunId | undefined, folder: string): Promise<Application | undefined> {
    const all = (await this.#records.applications(run)).filter(({ how }) => how === 'copy').toReversed()
    const here = run === undefined ? all.filter(each => each.folder === folder) : all
    return here.find(({ undone }) => undone === undefined) ?? here[0]
  }

  undo(application: Application, { accept, check, take, unconfirmed }: Wanted): Promise<Result<UndoneView>> {
    const { run, folder, from: before, to: after, undone } = application
    return this.#inFolder<UndoneView>(folder, run, async files => {
      const about = { run, how: 'copy' as const, folder, from: after, to: before }
      const nothing = { ...about, already: true, files: [], notable: [] }
      if (undone) return ok(nothing)
      const { open, foreign } = await files.compare(await files.changes(after, before))
      if (foreign.length > 0) return overlap(folder, foreign.map(nameText), `changes that came after ${run}`)
      if (open.length === 0) return ok(nothing)
      const names = open.map(({ name }) => name)
      const notable = await notableChanges(files, names, { from: after, to: before })
      const seen = { ...about, already: false, files: names.map(nameText), notable }
      if (check) return ok(seen)
      if (!accept && notable.length > 0) return unconfirmed(notable)
      const taken = await take({
        parley: 'undo',
        id: this.#host.ids.next('undo'),
        run,
        how: 'copy',
        of: application.id,
        folder,
        from: after,
        to: before,
      })
      return taken.ok ? ok(seen) : taken
    })
  }

  async #inFolder<T>(folder: string, run: RunId, work: (files: PlainFiles) => Promise<Result<T>>): Promise<Result<T>> {
    const { homes, clock } = this.#host
    try {
      return await inTurn(`${folder}/apply`, async () => work(await PlainFiles.open(folder, homes.home(run), clock)))
    } catch (error) {
      if (error instanceof ParleyError) return err(error)
      if (!(error instanceof Error) || !('syscall' in error)) throw error
      return refuse('folder_failed', `The system refused something in ${folder}: ${error.message}.`)
    }
  }
}

function overlap(folder: string, files: readonly string[], what: string) {
  const message = `${files.slice(0, 3).join(', ')}${files.length > 3 ? ` and ${files.length - 3} more` : ''} in ${folder} ${files.length === 1 ? 'has' : 'have'} ${what}.`
  return err(new ParleyError('dirty_overlap', message, { details: { files } }))
}

/** A step that was recorded. Cut off or failed, it is completed where that is possible, and else taken back. */
export async function carryOutCopy({ folder, from, to }: Step, files: PlainFiles): Promise<void> {
  const changes = await files.changes(from, to)
  const { open, foreign } = await files.compare(changes)
  try {
    if (foreign.length > 0)
      throw new ParleyError('repository_moved', `Files of ${folder} have changed meanwhile. Try again.`)
    await files.write(open)
  } catch (cause) {
    // Whatever is as the step makes it goes back; what somebody changed stays.
    await files.write((await files.compare(await files.changes(to, from))).open)
    throw cause
  }
}
