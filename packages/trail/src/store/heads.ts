// What is known of chain heads outside the log: one small file per finished segment, and one for heads that an index
// knew and the log no longer reaches. They make truncation and rollback visible (`heads/` in the trail's folder).
import { compile, type RunId, type Static, Type } from '@parley/core'
import type { LogPoint } from '../index/contract.ts'
import { type Files, readWhole, writeWhole } from '../log/files.ts'
import { sha256 } from '../run/chain.ts'
import { Count, Hash, idOf, readJson, Seq } from '../shapes.ts'
import type { RunHead } from './store.ts'

const FOLDER = 'heads'
const LOST = 'lost.json'

const HeadsFile = Type.Object({
  /** The last commit when this was written: a log that ends before it has lost something. */
  frame: Count,
  /** Bytes of the segment that counted then. Files of earlier versions do not say. */
  end: Type.Optional(Count),
  heads: Type.Array(Type.Object({ run: idOf<RunId>(), seq: Seq, hash: Hash })),
  /** SHA-256 of everything above, as this file spells it. */
  sum: Type.Optional(Type.String()),
})
type HeadsFile = Static<typeof HeadsFile>

const shape = compile(HeadsFile)
const NOTHING: HeadsFile = { frame: 0, heads: [] }

export class HeadFiles {
  readonly #files: Files
  #writing: Promise<void> = Promise.resolve()

  constructor(files: Files) {
    this.#files = files
  }

  /** Notes the heads of all runs that have entries in a segment. Best effort: a failure costs evidence, not entries. */
  note({ segment, end, frame }: LogPoint, heads: Iterable<RunHead>): void {
    const listed = Array.from(heads, ({ run, seq, hash }) => ({ run, seq, hash }))
    if (listed.length > 0) this.#write(fileOf(segment), { frame, end, heads: listed })
  }

  /** What is noted of a segment, if that is sound and of the segment as it is now. */
  current(segment: number, end: number): readonly RunHead[] | undefined {
    const { sum, ...file } = this.#read(fileOf(segment))
    return file.end === end && sum === sumOf(file) ? file.heads : undefined
  }

  /** Keeps the heads that the log has lost, until it reaches them again. */
  async noteLost(heads: readonly RunHead[]): Promise<void> {
    this.#write(LOST, { frame: 0, heads: [...heads] })
    await this.#writing
  }

  lost(): readonly RunHead[] {
    return this.#read(LOST).heads
  }

  /** Heads of files that tell of commits behind `frame`: what a log that ends there has lost. */
  *behind(frame: number): Generator<RunHead> {
    // A newer file tells of later commits, so the first that fits ends the search.
    for (const name of this.#names().toReversed()) {
      const file = this.#read(name)
      if (name !== LOST && file.frame <= frame) return
      if (name !== LOST) yield* file.heads
    }
  }

  *all(): Generator<RunHead> {
    for (const name of this.#names()) yield* this.#read(name).heads
  }

  settled(): Promise<void> {
    return this.#writing
  }

  #names(): string[] {
    return this.#files.list(FOLDER).filter(name => name.endsWith('.json'))
  }

  #read(name: string): HeadsFile {
    // A heads file that cannot be read proves nothing, and is no reason to stop.
    return readJson(shape, readWhole(this.#files, `${FOLDER}/${name}`)) ?? NOTHING
  }

  #write(name: string, content: HeadsFile): void {
    const bytes = Buffer.from(`${JSON.stringify({ ...content, sum: sumOf(content) })}\n`)
    this.#writing = this.#writing.then(async () => {
      try {
        this.#files.makeFolder(FOLDER)
        await writeWhole(this.#files, `${FOLDER}/${name}`, bytes)
      } catch {
        // See note().
      }
    })
  }
}

function sumOf(content: Omit<HeadsFile, 'sum'>): string {
  return sha256(JSON.stringify(content))
}

function fileOf(segment: number): string {
  return `${String(segment).padStart(8, '0')}.json`
}
