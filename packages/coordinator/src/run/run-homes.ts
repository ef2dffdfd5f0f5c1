// The folder of each run below the profile. While there may be something to clean up, a file in it says so, with the
// facts for it. In the end only the result is kept.
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { asParleyError, type Clock, ok, type Result, type RunId, unwrap } from '@parley/core'
import type { Folders } from '../folder/folders.ts'
import type { ProjectFacts } from '../folder/model.ts'
import { NoFolders } from '../folder/no-folders.ts'
import { RunFolders } from '../folder/run-folders.ts'
import { inTurn } from '../folder/turns.ts'
import { given } from '../given.ts'
import { keptCommits } from '../merge/salvaging.ts'
import type { RunProjection } from '../projection/run-projection.ts'
import { hasResult, placed, resultAt } from '../view/run-result.ts'
import type { RunView } from '../view/view.ts'

/** In a run's folder while there may be something to clean up. */
const OPEN = 'open'
const GONE = "the run's folder is gone from the profile, or was cleaned up"
const LOST = 'what was noted of its result is gone from the profile'
const MOVED = 'the project, or the commit that the run started from, is not where it was'

type ResultOfRun = Pick<RunView, 'result' | 'result_unknown'> & {
  /** By workspace: what became of work that was left when the run ended. */
  readonly kept?: ReadonlyMap<string, 'kept' | 'merged' | 'gone'>
}

export class RunHomes {
  readonly #profile: string
  readonly #runs: string
  readonly #clock: Clock

  constructor(profile: string, clock: Clock) {
    this.#profile = profile
    this.#runs = join(profile, 'runs')
    this.#clock = clock
  }

  home(run: RunId): string {
    return join(this.#runs, run)
  }

  has(run: RunId): boolean {
    return existsSync(this.home(run))
  }

  #mark(run: RunId): string {
    return join(this.home(run), OPEN)
  }

  /** For a new run. A refusal leaves nothing, or what the next start cleans up. */
  async create(run: RunId, project: string | undefined): Promise<Result<Folders>> {
    if (project === undefined) return ok(new NoFolders())
    const home = this.home(run)
    const options = { project, home, run, clock: this.#clock, profile: this.#profile }
    try {
      mkdirSync(home, { recursive: true, mode: 0o700 })
      // Where to look for what a stop leaves in the project before its facts are known.
      this.#writeMark(run, { project })
      const folders = await RunFolders.create(options)
      if (folders.ok) this.#writeMark(run, folders.value.facts)
      else if (folders.error.code !== 'run_exists') await this.#abandon(options)
      return folders
    } catch (cause) {
      await this.#abandon(options)
      throw cause
    }
  }

  async #abandon(options: Parameters<typeof RunFolders.abandon>[0]): Promise<void> {
    if ((await RunFolders.abandon(options)).ok) this.remove(options.run)
  }

  /** Whole, or as it was: half of it could never be cleaned up. */
  #writeMark(run: RunId, known: ProjectFacts | { readonly project: string }): void {
    const mark = this.#mark(run)
    writeFileSync(`${mark}.new`, JSON.stringify(known), { mode: 0o600 })
    renameSync(`${mark}.new`, mark)
  }

  /** The folders of a run that nobody drives. Opening makes its own git folder anew, so it is one after the other. */
  use<T>(run: RunId, facts: ProjectFacts, work: (folders: Folders) => Promise<Result<T>>): Promise<Result<T>> {
    return inTurn(`${this.home(run)}/use`, async () => {
      const folders = await this.open(run, facts)
      return folders.ok ? work(folders.value) : folders
    })
  }

  /** `facts`: those of the run's project, if it has one. */
  async open(run: RunId, facts: ProjectFacts | undefined): Promise<Result<Folders>> {
    if (!facts) return ok(new NoFolders())
    return RunFolders.open({ facts, home: this.home(run), run, clock: this.#clock })
  }

  /** The repository of a project, which is all of it that runs write to; undefined where there is none to read. */
  async writtenTo(project: string | undefined): Promise<string | undefined> {
    return project === undefined ? undefined : RunFolders.writtenTo(project, this.#clock)
  }

  remove(run: RunId): void {
    if (existsSync(this.home(run))) removeTree(this.home(run))
  }

  /** Runs whose folders may have to be cleaned up. */
  get unsettled(): RunId[] {
    return (readFolder(this.#runs) as RunId[]).filter(run => existsSync(this.#mark(run)))
  }

  /** What a stop between a run's end and its cleaning up has left. */
  async clean(run: RunId, projection: RunProjection): Promise<void> {
    const facts = readFileSync(this.#mark(run), 'utf8')
    if (facts === '') return
    const known = JSON.parse(facts) as ProjectFacts | { readonly project: string }
    if ('project' in known) {
      const { project } = known
      unwrap(await RunFolders.abandon({ project, home: this.home(run), run, clock: this.#clock }))
      return
    }
    const folders = unwrap(await this.open(run, known))
    unwrap(await folders.finish())
    await folders.clean(keptCommits(projection))
  }

  /** Keeps the folder for its result; a run that never came to be, or could change nothing, has none. */
  settle(run: RunId, projection: RunProjection): void {
    if (projection.root && hasResult(projection)) {
      if (existsSync(this.#mark(run))) unlinkSync(this.#mark(run))
    } else this.remove(run)
  }

  /** The result of a run that ended before this start, or why nobody can tell it; neither if that is unknown now. */
  async resultOf(run: RunId, projection: RunProjection): Promise<ResultOfRun> {
    const { facts } = projection
    // Asking changes nothing: what is not settled is so by the driver, or by the next start.
    if (!facts?.project || !hasResult(projection) || existsSync(this.#mark(run))) return {}
    const isGone = !this.has(run)
    try {
      return unwrap(
        await this.use(run, facts.project, async (folders): Promise<Result<ResultOfRun>> => {
          const finished = isGone ? undefined : unwrap(await folders.finished())
          if (finished)
            return ok({
              ...given({ result: placed(await resultAt(folders, finished.head), finished) }),
              kept: await keptStands(folders, projection),
            })
          const branch = await folders.branch()
          if (isGone) this.remove(run)
          return ok({
            result_unknown: `${isGone ? GONE : LOST}${branch === undefined ? '' : `; its branch is ${branch}`}`,
          })
        }),
      )
    } catch (cause) {
      if (isGone) {
        this.remove(run)
        return { result_unknown: GONE }
      }
      return asParleyError(cause).code === 'project_gone' ? { result_unknown: MOVED } : {}
    }
  }
}

async function keptStands(folders: Folders, projection: RunProjection): Promise<NonNullable<ResultOfRun['kept']>> {
  const stands = keptCommits(projection).map(async each => [each.name, await folders.standOfKept(each)] as const)
  return new Map(await Promise.all(stands))
}

function readFolder(path: string): string[] {
  try {
    return readdirSync(path)
  } catch {
    return []
  }
}

/** Not `rmSync`: that of Node.js 24 reports what the disk says without its code, which tells a fault of the machine. */
function removeTree(path: string): void {
  if (!lstatSync(path).isDirectory()) {
    unlinkSync(path)
    return
  }
  for (const name of readdirSync(path)) removeTree(join(path, name))
  rmdirSync(path)
}
