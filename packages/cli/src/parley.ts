#!/usr/bin/env node
// The command `parley`. What it does is in main.ts; here it meets the process.
import { extname, join } from 'node:path'
import { SystemClock } from '@parley/core'
import { commandTable } from './commands/table.ts'
import { main } from './main.ts'
import { endWithReader, systemTerminal } from './terminal.ts'
import { VERSION } from './version.ts'

// What takes rights from the owner would keep Parley, git and agents from their own files. What it takes from others
// stays.
process.umask(process.umask(0o077) & 0o077)
endWithReader()
// For a node to hand to its agents: this file, or in a bundle the one that begins it.
const command = join(import.meta.dirname, `parley${extname(import.meta.filename)}`)
const env = { PARLEY_COMMAND: command, ...process.env }
const clock = new SystemClock()
// Not process.exit: what was written may still be on its way into a pipe.
process.exitCode = await main(process.argv.slice(2), {
  env,
  cwd: process.cwd(),
  clock,
  version: VERSION,
  table: commandTable,
  terminal: global => systemTerminal({ env, noColor: global['no-color'] }),
  // Most of the time that a short command takes is reading code: what needs no node does not read the way to it.
  connect: global => async choice => {
    const { connector } = await import('./node/connect.ts')
    return connector(global, { env, clock })(choice)
  },
})
