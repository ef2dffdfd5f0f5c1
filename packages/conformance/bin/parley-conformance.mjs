#!/usr/bin/env node
// The command `parley-conformance`: the built package where there is one, otherwise the sources of this clone on the
// Node.js that it pins.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const launcher = new URL('../../../scripts/with-node.mjs', import.meta.url)

if (existsSync(launcher)) {
  const entry = 'packages/conformance/src/parley-conformance.ts'
  const args = [fileURLToPath(launcher), entry, ...process.argv.slice(2)]
  const child = spawn(process.execPath, args, { stdio: 'inherit' })
  child.on('exit', (code, signal) => {
    if (signal) process.kill(process.pid, signal)
    else process.exit(code ?? 1)
  })
} else {
  await import('../dist/parley-conformance.js')
}
