#!/usr/bin/env node
// The command `parley`. What it does is in main.ts; here it meets the process.
import { extname, join } from 'node:path'
import { SystemClock } from '@parley/core'
import { commandTable } from './commands/table.ts'
import { main } from './main.ts'
import { endWithReader, systemTerminal } from './terminal.ts'
import { VERSION } from './version.ts'

// A umask that takes rights from the owner would lock Parley, git and agents out of their own files.
process.umask(process.umask(0o077) & 0o077)
endWithReader()
// The node gives it to its agents: this file, or the entry of the bundle.
const command = join(import.meta.dirname, `parley${extname(import.meta.filename)}`)
const env = { PARLEY_COMMAND: command, ...process.env }
const clock = new SystemClock()
// Not process.exit: output may still be on its way into a pipe.
process.exitCode = await main(process.argv.slice(2), {
  env,
  cwd: process.cwd(),
  clock,
  version: VERSION,
  table: commandTable,
  terminal: global => systemTerminal(env, global['no-color']),
  // Loading code dominates short commands: those that need no node do not load the way to it.
  connect: global => async choice => {
    const { connector } = await import('./node/connect.ts')
    return connector(global, { env, clock })(choice)
  },
})
