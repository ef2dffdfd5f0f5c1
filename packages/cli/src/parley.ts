#!/usr/bin/env node
// The command `parley`. What it does is in main.ts; here it meets the process.
import { SystemClock } from '@parley/core'
import { commandTable } from './commands/table.ts'
import { connector } from './connect.ts'
import { main } from './main.ts'
import { endWithReader, systemTerminal } from './terminal.ts'
import { VERSION } from './version.ts'

// What takes rights from the owner would keep Parley, git and agents from their own files. What it takes from others stays.
process.umask(process.umask(0o077) & 0o077)
endWithReader()
const { env } = process
const clock = new SystemClock()
// Not process.exit: what was written may still be on its way into a pipe.
process.exitCode = await main(process.argv.slice(2), {
  env,
  cwd: process.cwd(),
  clock,
  version: VERSION,
  table: commandTable,
  terminal: global => systemTerminal({ env, noColor: global['no-color'] }),
  connect: global => connector(global, { env, clock }),
})
