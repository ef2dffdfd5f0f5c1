// A folder of a test's own. Node.js only.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/** A path in a folder that goes with the test. */
export function temporaryPath(name = 'socket'): string {
  const folder = mkdtempSync(join(tmpdir(), 'parley-call-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, name)
}
