// Where a program is, as a shell would find it.
import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, join, resolve } from 'node:path'

/** Where a program is: with a slash relative to `base`, otherwise the first on PATH that can be run. */
export function findProgram(program: string, path: string, base: string): string | undefined {
  if (program === '') return undefined
  const candidates = program.includes('/')
    ? [resolve(base, program)]
    : path
        .split(delimiter)
        .filter(folder => folder !== '')
        .map(folder => join(folder, program))
  return candidates.find(isExecutable)
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return statSync(file).isFile()
  } catch {
    return false
  }
}
