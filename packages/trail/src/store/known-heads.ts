// Heads that index, heads files and manifests know: a log that ends before one has lost acknowledged entries.
import type { RunId } from '@parley/core'
import type { Archives } from '../archive/archives.ts'
import type { LogPoint, TrailIndex } from '../index/contract.ts'
import type { HeadFiles } from './heads.ts'
import type { Damage, Position, RunHead } from './store.ts'

export class KnownHeads {
  readonly #files: HeadFiles
  readonly #archives: Archives
  readonly #index: TrailIndex

  constructor(files: HeadFiles, archives: Archives, index: TrailIndex) {
    this.#files = files
    this.#archives = archives
    this.#index = index
  }

  /** Compares them with a log that was just opened and ends here. What it lacks is noted until it is there again. */
  async compare({ frame }: LogPoint): Promise<Damage | undefined> {
    const opening = await this.#index.opening()
    const lost = new Map(opening.lostHeads.map(head => [head.run, head]))
    const before = this.#files.lost()
    const noted = opening.state === 'rebuilt' ? this.#files.all() : this.#files.behind(frame)
    for (const head of [...before, ...noted]) {
      const now = await this.#index.head(head.run, frame)
      if (!now || now.seq < head.seq) lost.set(head.run, head)
    }
    if (lost.size > 0 || before.length > 0) await this.#files.noteLost([...lost.values()])
    if (lost.size === 0) return undefined
    return {
      code: 'trail_truncated',
      message: `The log ends before entries that were acknowledged, in ${lost.size} ${lost.size === 1 ? 'run' : 'runs'}. Verify them, and restore the log from a backup.`,
      runs: [...lost.keys()],
    }
  }

  /** All of them, of one run or of all; the index has seen the position. */
  async at(position: Position, run: RunId | undefined): Promise<readonly RunHead[]> {
    const noted = [...this.#files.all(), ...(await this.#listed(run))]
    if (run === undefined) return [...noted, ...(await this.#index.runs(position))]
    const indexed = await this.#index.head(run, position)
    const own = indexed ? [{ run, seq: indexed.seq, hash: indexed.hash }] : []
    return [...noted.filter(head => head.run === run), ...own]
  }

  /** The newest head of a run that its archives tell of; undefined where none of it has left the segments. */
  async archived(run: RunId): Promise<RunHead | undefined> {
    return this.#archives.catalogue.holds(run) ? (await this.#listed(run))[0] : undefined
  }

  async #listed(run: RunId | undefined): Promise<readonly RunHead[]> {
    const newest = new Map<RunId, RunHead>()
    for await (const manifest of this.#archives.catalogue.inspect(run)) {
      if (typeof manifest === 'string' || !manifest.head) continue
      const { seq, hash } = manifest.head
      if (seq > (newest.get(manifest.run)?.seq ?? 0)) newest.set(manifest.run, { run: manifest.run, seq, hash })
    }
    for (const each of run === undefined ? this.#archives.catalogue.runs() : [run]) {
      const whole = this.#archives.wholeUpTo(each)
      if (whole && whole.seq > (newest.get(each)?.seq ?? 0)) newest.set(each, whole)
    }
    return [...newest.values()]
  }
}
