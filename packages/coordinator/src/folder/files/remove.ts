// Removing what an agent left: folders without write permission, and files that an orphaned process still adds.
import { chmod, lstat, readdir, rm } from 'node:fs/promises'
import { nameBytes } from './file-name.ts'

/** Removes a file, a link (never what it points at) or a whole folder; nothing there is fine. */
export async function removeAll(path: string | Buffer): Promise<void> {
  const options = { recursive: true, force: true, maxRetries: 5, retryDelay: 20 } as const
  try {
    await rm(path, options)
  } catch {
    await makeWritable(asBytes(path))
    await rm(path, options)
  }
}

async function makeWritable(path: Buffer): Promise<void> {
  const found = await lstat(path).catch(() => undefined)
  if (!found?.isDirectory()) return
  await chmod(path, 0o700)
  for (const name of await readdir(path, { encoding: 'buffer' })) {
    await makeWritable(Buffer.concat([path, Buffer.from('/'), name]))
  }
}

/** A path below a folder, for file names in any encoding. */
export function below(folder: string, name: string): Buffer {
  return Buffer.concat([Buffer.from(`${folder}/`), nameBytes(name)])
}

function asBytes(path: string | Buffer): Buffer {
  return typeof path === 'string' ? Buffer.from(path) : path
}
