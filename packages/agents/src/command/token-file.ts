// The token of a turn as its processes get it: a file that a variable names. An environment is inherited by everything,
// printed by many programs and shown in /proc; a file is read by who means to.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** The variable that names the file. */
export const TOKEN_FILE = 'PARLEY_TOKEN_FILE'

/** The file is there while `use` is at work. Its folder is nobody else's (mode 0700), and so is the file (0600). */
export async function withTokenFile<T>(token: string, place: string, use: (file: string) => Promise<T>): Promise<T> {
  await mkdir(place, { recursive: true, mode: 0o700 })
  const folder = await mkdtemp(join(place, 'parley-token-'))
  try {
    const file = join(folder, 'token')
    await writeFile(file, token, { mode: 0o600, flag: 'wx' })
    return await use(file)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
