// Arguments, flags and small steps that several commands share.
import { readFileSync, type Stats, statSync } from 'node:fs'
import { join } from 'node:path'
import { parseDuration } from '@parley/core'
import type { Argument, Context } from '../command.ts'
import { Failure } from '../failure.ts'
import { cliLimits } from '../limits.ts'
import { printLines } from '../output.ts'

export const TEAM_FILE = 'parley.yaml'

export const RUN: Argument = {
  name: 'RUN',
  summary: 'A run: its id, a part of it as lists show it, or last, the newest of this project (default: last)',
  optional: true,
}

/** For commands that end or pause work. */
export const RUN_AT_WORK: Argument = {
  name: 'RUN',
  summary: 'A run: its id, a part of it as lists show it, or last (default: the only one at work)',
  optional: true,
}
export const OF_RUN: Argument = { name: 'RUN', summary: 'Only for this run', optional: true }
export const OF_TASK: Argument = {
  name: 'TASK',
  summary: 'One task of it (default: all work of the run)',
  optional: true,
}

export const LAST = 'last'

export function limitOf(given: number | undefined, usual: number, most: number): number {
  if (given === 0) {
    throw new Failure('usage', '--limit 0 would list nothing.', {
      why: `It must be 1 to ${most}.`,
      next: `Leave it out for ${usual}.`,
    })
  }
  return Math.min(given ?? usual, most)
}

/** `what`: the purpose of the time, for the message. */
function durationOf(given: string | undefined, what: string, next: string): number | undefined {
  if (given === undefined) return undefined
  const found = parseDuration(given)
  if (found !== undefined && found >= 1 && found <= cliLimits.graceMs) return found
  throw new Failure('usage', `'${given}' is not a time to ${what}.`, {
    why: 'A time has a unit and is at most one day.',
    next,
  })
}

export const graceOf = (given: string | undefined) => durationOf(given, 'finish in', 'parley abort RUN TASK --grace 2m')
export const timeOf = (given: string | undefined) => durationOf(given, 'wait', '--timeout 2m')

/** The node's own deadline comes first, so that its error arrives. */
export function patience(peerMs = 0): { readonly timeout: number } {
  return { timeout: cliLimits.callMarginMs + peerMs }
}

export function reasonOf(given: string | undefined): string | undefined {
  const text = given?.trim()
  if (!text) return undefined
  if (text.length <= cliLimits.reasonLength) return text
  throw new Failure('usage', `The reason has ${text.length} characters.`, {
    why: `At most ${cliLimits.reasonLength} are kept.`,
    next: 'Shorten it.',
  })
}

/** Shows the consequences and asks for confirmation. */
export async function mayReplaceKey(
  { terminal }: Context,
  why: string,
  consequences: () => Promise<readonly string[]>,
): Promise<boolean> {
  if (!terminal.interactive)
    throw new Failure('not_confirmed', 'Nobody is there to confirm that the key should be replaced.', {
      why,
      next: 'Confirm with --yes.',
    })
  printLines({ terminal }, await consequences())
  const answer = await terminal.ask('Replace the key? [y/N] ')
  return /^y(es)?$/i.test(answer?.trim() ?? '')
}

/** `remedy`: advice if there is no such file. */
export function readTextFile(file: string, remedy = '`parley init` writes a team file; --team names one.'): string {
  return readSmallFile(file, remedy, found => {
    const isFolder = found.isDirectory()
    if (!found.isFile())
      throw new Failure('file_unreadable', `${file} is not a team file.`, {
        why: isFolder ? 'It is a folder.' : 'It is not a file.',
        next: isFolder ? `Name the file in it, such as ${join(file, TEAM_FILE)}` : 'Name a file.',
        details: { file },
      })
    if (found.size > cliLimits.teamFileBytes)
      throw new Failure('invalid_team', `${file} has ${found.size} bytes.`, {
        why: `A team file has at most ${cliLimits.teamFileBytes}.`,
        next: 'Name another file.',
      })
  })
}

export function readSmallFile(file: string, remedy: string, check: (found: Stats) => void): string {
  try {
    check(statSync(file))
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
