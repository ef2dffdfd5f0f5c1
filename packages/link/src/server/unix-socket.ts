// The Unix socket of a profile (ALP-UNIX-01, -02): made under another name and moved into place, so that it is its
// owner's alone from the first moment and replaces whatever lay there; removed at the end if it is still ours.
import { randomBytes } from 'node:crypto'
import { chmodSync, lstatSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { ParleyError } from '@parley/core'
import { linkLimits } from '../limits.ts'
import { type Arrival, type Listening, listen } from '../transport/listen.ts'

/** Rejects with `socket_path_too_long`, or with the system's error. */
export async function listenUnix(path: string, serve: (arrival: Arrival) => void): Promise<Listening> {
  const folder = dirname(path)
  // As long as `alp.sock`, so that both names fit or none does.
  const temporary = join(folder, `.a${randomBytes(3).toString('hex')}`)
  const most = linkLimits.socketPathBytes
  if (Buffer.byteLength(path) > most)
    throw new ParleyError(
      'socket_path_too_long',
      `${path} is longer than the ${most} bytes that this system allows for a socket; move the profile to a shorter path.`,
    )
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const listening = await listen({ path: temporary }, linkLimits.unixConnections, serve)
  try {
    chmodSync(temporary, 0o600)
    renameSync(temporary, path)
  } catch (cause) {
    await listening.stop()
    throw cause
  }
  const { ino, dev } = lstatSync(path)
  return {
    ...listening,
    stop() {
      const now = lstatSync(path, { throwIfNoEntry: false })
      // Another server may have taken the name since.
      if (now?.ino === ino && now.dev === dev) rmSync(path, { force: true })
      return listening.stop()
    },
  }
}
