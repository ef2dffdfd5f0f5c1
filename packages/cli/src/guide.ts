// Where the guide is on this machine, if it is there: in a clone it is, in an installed package it need not be.
import { existsSync } from 'node:fs'
import { join } from 'node:path'

const FOLDER = join(import.meta.dirname, '..', '..', '..', 'docs', 'guide')

/** ` Every field: /…/team-files.md`, or nothing: nobody is sent to a file that is not there. */
export function everyField(folder: string = FOLDER): string {
  const file = join(folder, 'team-files.md')
  return existsSync(file) ? ` Every field: ${file}` : ''
}
