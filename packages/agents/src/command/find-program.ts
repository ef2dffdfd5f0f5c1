// Where a program is, as a shell would find it, and what is said where it is not there.
import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, isAbsolute, join, resolve } from 'node:path'
import type { MissingPart } from '@parley/core'

export interface ProgramPlace {
  /** Where programs without a slash are looked for; an agent may have another. */
  readonly path: string
  /** In front of either. */
  readonly bin?: string | undefined
  /** What programs with a slash are relative to. */
  readonly base?: string | undefined
}

export function missingProgram(program: string, { path, bin, base }: ProgramPlace): MissingPart | undefined {
  if (cannotTell(program, path) || findProgram(program, inFront(bin, path), base ?? '/') !== undefined) return undefined
  if (!program.includes('/'))
    return {
      name: program,
      looked: 'Programs without a slash are looked for on PATH, as it is where the run is started.',
    }
  const relative = !isAbsolute(program) && base !== undefined
  return { name: program, looked: relative ? `Those with a slash are relative to ${base}.` : undefined }
}

/** A program with a slash is relative to `base`; another is the first executable on PATH. */
export function findProgram(program: string, path: string, base: string): string | undefined {
  if (program === '') return undefined
  const candidates = program.includes('/')
    ? [resolve(base, program)]
    : path
        .split(delimiter)
        // An empty entry means the current folder: a program there is not what anybody installed.
        .filter(folder => folder !== '')
        .map(folder => join(folder, program))
  return candidates.find(isExecutable)
}

export function inFront(folder: string | undefined, path: string | undefined): string {
  return [folder, path].filter(part => part !== undefined && part !== '').join(delimiter)
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return statSync(file).isFile()
  } catch {
    return false
  }
}

/** Placeholders, and a PATH relative to the turn's folder, are known only in a turn. */
function cannotTell(program: string, path: string): boolean {
  if (/\{\w+\}/.test(program)) return true
  return !program.includes('/') && path.split(delimiter).some(folder => folder !== '' && !isAbsolute(folder))
}
