// Arguments, flags and small steps that several commands share.
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Argument } from '../command.ts'
import { Failure } from '../failure.ts'
import { cliLimits } from '../limits.ts'

/** The team file that `solve` takes where it finds one. */
export const TEAM_FILE = 'parley.yaml'

export const RUN: Argument = {
  name: 'RUN',
  summary: 'A run: its id, a unique beginning of it, or last (default: last)',
  optional: true,
}

export const LAST = 'last'

/** A number of things to list: at least one, at most what one call gives. */
export function limitOf(given: number | undefined, usual: number, most: number): number {
  if (given === 0) {
    throw new Failure('usage', '--limit 0 lists nothing.', {
      why: `It is 1 to ${most}.`,
      next: `Leave it out for ${usual}.`,
    })
  }
  return Math.min(given ?? usual, most)
}

/** A time in milliseconds, written as in a team file. */
export async function graceOf(given: string | undefined): Promise<number | undefined> {
  if (given === undefined) return undefined
  const { parseDuration } = await import('@parley/node')
  const found = parseDuration(given)
  if (found !== undefined && found >= 1 && found <= cliLimits.graceMs) return found
  throw new Failure('usage', `'${given}' is no time to finish in.`, {
    why: 'It has a unit, and is at most a day.',
    next: 'parley abort RUN TASK --grace 2m',
  })
}

/** How long to wait, in milliseconds, written in the same way. */
export async function timeOf(given: string | undefined): Promise<number | undefined> {
  if (given === undefined) return undefined
  const { parseDuration } = await import('@parley/node')
  const found = parseDuration(given)
  if (found !== undefined && found >= 1 && found <= cliLimits.graceMs) return found
  throw new Failure('usage', `'${given}' is no time to wait.`, {
    why: 'It has a unit, and is at most a day.',
    next: '--timeout 2m',
  })
}

export function reasonOf(given: string | undefined): string | undefined {
  const text = given?.trim()
  if (!text) return undefined
  if (text.length <= cliLimits.reasonLength) return text
  throw new Failure('usage', `The reason has ${text.length} characters.`, {
    why: `At most ${cliLimits.reasonLength} are kept.`,
    next: 'Say it shorter.',
  })
}

/** `remedy`: what to do where there is no such file. */
export function readTextFile(
  file: string,
  remedy = '`parley init` writes a team file; --team names one.',
): string {
  try {
    const found = statSync(file)
    const { size } = found
    if (!found.isFile()) {
      throw new Failure('file_unreadable', `${file} is no team file.`, {
        why: found.isDirectory() ? 'It is a folder.' : 'It is not a file.',
        next: found.isDirectory() ? `Name the file in it, such as ${join(file, TEAM_FILE)}` : 'Name a file.',
        details: { file },
      })
    }
    if (size > cliLimits.teamFileBytes) {
      throw new Failure('invalid_team', `${file} has ${size} bytes.`, {
        why: `A team file has at most ${cliLimits.teamFileBytes}.`,
        next: 'Name another file.',
      })
    }
    return readFileSync(file, 'utf8')
  } catch (thrown) {
    if (thrown instanceof Failure) throw thrown
    const { code } = thrown as NodeJS.ErrnoException
    const missing = code === 'ENOENT' || code === 'ENOTDIR'
    throw new Failure(missing ? 'file_not_found' : 'file_unreadable', `${file} cannot be read.`, {
      why: missing ? 'There is no such file.' : `The system says ${code}.`,
      next: missing ? remedy : 'Check its permissions.',
      details: { file },
      cause: thrown,
    })
  }
}
