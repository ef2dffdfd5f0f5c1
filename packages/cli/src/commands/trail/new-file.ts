// Writes a new file, completely or not at all.
import { existsSync } from 'node:fs'
import { link, open, rename, rm } from 'node:fs/promises'
import { Failure } from '../../failure.ts'

/** Refuses to overwrite a file. Returns the bytes written. */
export async function writeNewFile(file: string, pieces: AsyncIterable<string | Uint8Array>): Promise<number> {
  const partial = `${file}.${process.pid}.part`
  try {
    const bytes = await writeAll(partial, pieces)
    await putInPlace(partial, file)
    return bytes
  } catch (thrown) {
    throw asFailure(file, thrown)
  } finally {
    await rm(partial, { force: true })
  }
}

/** A hard link fails if the file exists; some file systems have no links. */
async function putInPlace(partial: string, file: string): Promise<void> {
  try {
    await link(partial, file)
  } catch (thrown) {
    const { code = '' } = thrown as NodeJS.ErrnoException
    if (!NO_LINKS.has(code) || existsSync(file)) throw thrown
    await rename(partial, file)
  }
}

const NO_LINKS: ReadonlySet<string> = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'])

async function writeAll(file: string, pieces: AsyncIterable<string | Uint8Array>): Promise<number> {
  await using written = await open(file, 'wx', 0o600)
  for await (const piece of pieces) await written.writeFile(piece)
  await written.sync()
  return (await written.stat()).size
}

export function fileExists(file: string): Failure {
  return new Failure('file_exists', `${file} already exists.`, {
    why: 'An export never overwrites a file.',
    next: 'Choose another name with --output.',
    details: { file },
  })
}

function asFailure(file: string, thrown: unknown): unknown {
  const { code } = thrown as NodeJS.ErrnoException
  if (code === 'EEXIST') return fileExists(file)
  if (typeof code !== 'string' || !/^E[A-Z]+$/.test(code)) return thrown
  return new Failure('file_unwritable', `${file} cannot be written.`, {
    why: `The system says ${code}.`,
    next: 'Choose another place with --output.',
    details: { file },
    cause: thrown,
  })
}
