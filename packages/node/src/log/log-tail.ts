// The last lines of a log, for the message of an error.
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { nodeLimits } from '../limits.ts'
import { scrub } from './redact.ts'

/** At most `nodeLimits.shownLogLines`, the newest last; none where there is no log. */
export function logTail(file: string): readonly string[] {
  try {
    const handle = openSync(file, 'r')
    try {
      const { size } = fstatSync(handle)
      const bytes = Buffer.alloc(Math.min(size, nodeLimits.shownLogBytes))
      const read = readSync(handle, bytes, 0, bytes.length, size - bytes.length)
      const lines = bytes
        .toString('utf8', 0, read)
        .split('\n')
        .filter(line => line.trim() !== '')
      return lines.slice(-nodeLimits.shownLogLines).map(readable)
    } finally {
      closeSync(handle)
    }
  } catch {
    return []
  }
}

/** The message of a JSON line; any other line as it is. */
function readable(line: string): string {
  try {
    const { level, msg } = JSON.parse(line) as { readonly level?: unknown; readonly msg?: unknown }
    if (typeof msg === 'string') return `${String(level)}: ${scrub(msg)}`
  } catch {
    // Not one of ours: the runtime's own last words.
  }
  return scrub(line).slice(0, 400)
}
