// The token of a turn in a file that a variable names: environments are inherited, printed and shown in /proc.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

export const TOKEN_FILE = 'PARLEY_TOKEN_FILE'

/** The file exists while `use` runs. Only the owner can read it (0600) and its folder (0700). */
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
