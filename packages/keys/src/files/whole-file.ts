// Replacing a file: at every moment, also of a crash, its name stands for the old bytes or for the new ones, and for
// the new ones for good once it is done. The steps are given once, for disks that are waited for and for those that
// are not.
import { dirname } from 'node:path'
import type { Disk } from './disk.ts'

interface OpenFile {
  write(bytes: Uint8Array, at: number): void
  /** Resolves, or returns, once what was written would survive a power loss. */
  sync(): void | Promise<void>
  close(): void
}

/** What replacing a file takes. Names made, renamed or removed last only after `syncFolder`. */
interface WholeFiles {
  exists(path: string): boolean
  remove(path: string): void
  /** Opens a file that is not there yet. */
  open(path: string, how: 'create', mode?: number): OpenFile
  rename(from: string, to: string): void
  syncFolder(path: string): void | Promise<void>
}

/** Each step that takes long is yielded, and the next one is taken when it is done. */
function* replacing(
  files: WholeFiles,
  path: string,
  bytes: Uint8Array,
  mode?: number,
): Generator<void | Promise<void>> {
  const temporary = `${path}.tmp`
  // What a crash has left.
  if (files.exists(temporary)) files.remove(temporary)
  const file = files.open(temporary, 'create', mode)
  try {
    file.write(bytes, 0)
    yield file.sync()
  } finally {
    file.close()
  }
  files.rename(temporary, path)
  const folder = dirname(path)
  yield files.syncFolder(folder === '.' ? '' : folder)
}

/** Durable once it resolves. */
export async function writeWhole(files: WholeFiles, path: string, bytes: Uint8Array): Promise<void> {
  const steps = replacing(files, path, bytes)
  for (let step = steps.next(); !step.done; step = steps.next()) {
    try {
      await step.value
    } catch (cause) {
      steps.throw(cause)
    }
  }
}

interface WriteOptions {
  /** Left out, 0600. */
  readonly mode?: number | undefined
  /** Of folders that are missing; left out, 0700. */
  readonly folderMode?: number | undefined
}

/** Durable when it returns. Makes the folder where it is missing. */
export function writeWholeSync(disk: Disk, path: string, bytes: Uint8Array, options: WriteOptions = {}): void {
  disk.makeFolder(dirname(path), options.folderMode ?? 0o700)
  for (const _done of replacing(disk, path, bytes, options.mode ?? 0o600));
}
