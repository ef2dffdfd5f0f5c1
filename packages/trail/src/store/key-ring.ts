// The public keys that have signed this trail, present and former (`keys.json`), so that old entries still verify after a rotation.
import { compile, Type } from '@parley/core'
import { type Files, readWhole, writeWhole } from '../log/files.ts'

const FILE = 'keys.json'
const shape = compile(Type.Array(Type.String({ minLength: 44, maxLength: 44 })))

export class KeyRing {
  readonly #files: Files

  constructor(files: Files) {
    this.#files = files
  }

  all(): ReadonlySet<string> {
    const bytes = readWhole(this.#files, FILE)
    if (bytes === undefined) return new Set()
    const parsed: unknown = JSON.parse(bytes.toString('utf8'))
    const checked = shape.check(parsed, 'keys_unreadable')
    if (!checked.ok) throw checked.error
    return new Set(checked.value)
  }

  async add(key: string): Promise<void> {
    const keys = this.all()
    if (keys.has(key)) return
    await writeWhole(this.#files, FILE, Buffer.from(`${JSON.stringify([...keys, key], null, 2)}\n`))
  }
}
