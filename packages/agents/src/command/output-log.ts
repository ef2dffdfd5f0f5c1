// Everything that a program prints, line by line, in a file that only its owner can read. Secrets are hidden in it, as
// in everything else that is shown. A file that cannot be written is no reason for the program to fail.
import { createWriteStream } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { finished } from 'node:stream/promises'

export interface OutputLog {
  line(text: string): void
  end(): Promise<void>
}

export async function openLog(file: string): Promise<OutputLog> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  const stream = createWriteStream(file, { mode: 0o600 })
  const written = finished(stream).catch(() => {})
  return {
    line: text => void stream.write(`${text}\n`),
    end: () => {
      stream.end()
      return written
    },
  }
}
