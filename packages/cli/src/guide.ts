// Where the guide is on this machine: in a clone; an installed package need not have it.
import { existsSync } from 'node:fs'
import { join } from 'node:path'

const FOLDER = join(import.meta.dirname, '..', '..', '..', 'docs', 'guide')

/** ` Every field: /…/team-files.md`, or nothing if there is no such file. */
export function everyField(folder: string = FOLDER): string {
  const file = join(folder, 'team-files.md')
  return existsSync(file) ? ` Every field: ${file}` : ''
}
