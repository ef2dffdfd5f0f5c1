// The private files of a turn: its token, which a variable names, since environments are inherited, printed and shown
// in /proc; the way to it, for `parley mcp`; and what a program is given of its own.
import { randomUUID } from 'node:crypto'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Variables } from './environment.ts'

export const TOKEN_FILE = 'PARLEY_TOKEN_FILE'

/** Of what `parley ws` finds in its environment, all that leads to the node. */
const WAY = ['PARLEY_HOME', 'PARLEY_PROFILE', 'PARLEY_SOCKET'] as const

export interface TurnFiles {
  /** Of the turn alone. */
  readonly folder: string
  readonly token: string
  /** For `parley mcp --turn`. */
  readonly turn: string
}

/**
 * The token alone; its file exists while `use` runs. It is written at once: one small file takes less time than its way
 * through the thread pool, where every turn that starts waits.
 */
export async function withTokenFile<T>(place: string, token: string, use: (file: string) => Promise<T>): Promise<T> {
  mkdirSync(place, { recursive: true, mode: 0o700 })
  const file = join(place, `parley-token-${randomUUID()}`)
  try {
    writeFileSync(file, token, { mode: 0o600, flag: 'wx' })
    return await use(file)
  } finally {
    rmSync(file, { force: true })
  }
}

/** The files exist while `use` runs. Only the owner can read them (0600) and their folder (0700). */
export async function withTurnFiles<T>(
  given: { readonly token: string; readonly place: string; readonly environment?: Variables | undefined },
  use: (files: TurnFiles) => Promise<T>,
): Promise<T> {
  const { token, place, environment = {} } = given
  await mkdir(place, { recursive: true, mode: 0o700 })
  const folder = await mkdtemp(join(place, 'parley-token-'))
  try {
    const files = { folder, token: join(folder, 'token'), turn: join(folder, 'turn.json') }
    const way = WAY.map(name => [name, environment[name]])
    await writePrivate(files.token, token)
    await writePrivate(files.turn, JSON.stringify({ [TOKEN_FILE]: files.token, ...Object.fromEntries(way) }))
    return await use(files)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

export function writePrivate(file: string, content: string): Promise<void> {
  return writeFile(file, content, { mode: 0o600, flag: 'wx' })
}
