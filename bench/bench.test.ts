// Benchmarks do not rot: the short form of each runs to its end and prints its table. What it prints there says nothing
// about speed. Peers that are installed below bench/ only for a comparison are left out.
import { spawn } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'

const names = readdirSync(import.meta.dirname)
  .filter(name => name.endsWith('.ts') && !name.includes('.test.'))
  .map(name => name.slice(0, -'.ts'.length))

/** Milliseconds; on two quiet cores each takes some seconds at most. A busy machine fails nothing. */
const LIMIT = 180_000

function ended(name: string): Promise<{ readonly code: number | null; readonly output: string }> {
  const args = [...process.execArgv, join(import.meta.dirname, `${name}.ts`), '--short']
  // A group of its own: one that hangs is ended with everything that it started.
  const child = spawn(process.execPath, args, { detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', text => (output += text))
  const hangs = setTimeout(() => process.kill(-child.pid!, 'SIGKILL'), LIMIT)
  return new Promise(resolve => {
    child.once('close', code => {
      clearTimeout(hangs)
      resolve({ code, output })
    })
  })
}

describe.concurrent('the short form of', () => {
  test.each(names)(
    '%s ends, with its table',
    async name => {
      const { code, output } = await ended(name)
      expect(code, output).toBe(0)
      expect(output).toMatch(/^\| .* \|\n\| ---.*\|\n\| .*\d.*\|$/m)
    },
    LIMIT + 10_000,
  )
})
