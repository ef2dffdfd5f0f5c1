// A project may be a subfolder of its repository: converts between git's names, from the top, and paths from the
// project.
import { posix } from 'node:path'
import { ParleyError } from '@parley/core'
import { type FileName, lossyText, nameText, parseName, textName } from './file-name.ts'

export class Scope {
  /** The subfolder with a slash at its end, or nothing. */
  readonly #prefix: string

  constructor(folder: string) {
    this.#prefix = folder === '' ? '' : `${textName(folder)}/`
  }

  contains(name: FileName): boolean {
    return name.startsWith(this.#prefix)
  }

  /** As people see it: relative to the project, `../../` for what is outside. */
  text(name: FileName): string {
    return nameText(this.#relative(name))
  }

  matchable(name: FileName): string {
    return lossyText(this.#relative(name))
  }

  name(path: string): FileName {
    const name = posix.normalize(this.#prefix + parseName(path)) as FileName
    if (name.startsWith('../../') || name === '..' || path.startsWith('/')) {
      throw new ParleyError('invalid_path', `${path} is not a path inside the project.`)
    }
    return name
  }

  #relative(name: FileName): string {
    if (this.contains(name)) return name.slice(this.#prefix.length)
    return posix.relative(`/${this.#prefix}`, `/${name}`)
  }
}
