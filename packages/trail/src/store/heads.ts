// What is known of chain heads outside the log itself: one small file for each finished segment, and one for heads that
// an index knew and the log no longer reaches. They make truncation and rollback visible (`heads/` in the trail's folder).
import { compile, type RunId, Type } from '@parley/core'
import { type Files, readWhole, writeWhole } from '../log/files.ts'
import type { RunHead } from './store.ts'

const FOLDER = 'heads'
const LOST = 'lost.json'

const headsFile = compile(
  Type.Array(
    Type.Object({
      run: Type.String({ minLength: 1, maxLength: 64 }),
      seq: Type.Integer({ minimum: 1 }),
      hash: Type.String({ pattern: '^[0-9a-f]{64}$' }),
    }),
  ),
)

export class HeadFiles {
  readonly #files: Files
  #writing: Promise<void> = Promise.resolve()

  constructor(files: Files) {
    this.#files = files
  }

  /** Notes the heads that a segment ends with. Best effort: a failure costs evidence, not entries. */
  note(segment: number, heads: ReadonlyMap<RunId, RunHead>): void {
    if (heads.size === 0) return
    this.#write(`${String(segment).padStart(8, '0')}.json`, [...heads.values()])
  }

  /** Keeps heads that the log has lost, beside those kept earlier. */
  async noteLost(heads: readonly RunHead[]): Promise<void> {
    const known = new Map(
      [...this.lost(), ...heads].map(head => [`${head.run} ${head.seq} ${head.hash}`, head]),
    )
    this.#write(LOST, [...known.values()])
    await this.#writing
  }

  lost(): readonly RunHead[] {
    return this.#read(LOST)
  }

  /** Heads noted for a segment and those behind it, newest last. */
  *since(segment: number): Generator<RunHead> {
    for (const name of this.#files.list(FOLDER)) {
      if (name.endsWith('.json') && name !== LOST && Number.parseInt(name, 10) >= segment)
        yield* this.#read(name)
    }
  }

  /** Every head that was ever noted. */
  *all(): Generator<RunHead> {
    for (const name of this.#files.list(FOLDER)) if (name.endsWith('.json')) yield* this.#read(name)
  }

  settled(): Promise<void> {
    return this.#writing
  }

  #read(name: string): readonly RunHead[] {
    const bytes = readWhole(this.#files, `${FOLDER}/${name}`)
    if (bytes === undefined) return []
    try {
      const parsed: unknown = JSON.parse(bytes.toString('utf8'))
      return headsFile.is(parsed) ? parsed.map(head => ({ ...head, run: head.run as RunId })) : []
    } catch {
      // A heads file that cannot be read proves nothing, and is no reason to stop.
      return []
    }
  }

  #write(name: string, heads: readonly RunHead[]): void {
    this.#writing = this.#writing.then(async () => {
      try {
        this.#files.makeFolder(FOLDER)
        await writeWhole(this.#files, `${FOLDER}/${name}`, Buffer.from(`${JSON.stringify(heads)}\n`))
      } catch {
        // See note().
      }
    })
  }
}
