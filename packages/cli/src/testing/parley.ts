// Runs the command inside the test, with the table that the real one has.
import type { Clock } from '@parley/core'
import type { ConnectChoice, Table } from '../command.ts'
import { commandTable } from '../commands/table.ts'
import type { ExitCode } from '../exit.ts'
import { main } from '../main.ts'
import type { Calls } from '../node/client.ts'
import { FakeTerminal } from './terminal.ts'

export interface Surroundings {
  readonly node?: Calls | ((choice: ConnectChoice) => Calls | Promise<Calls>)
  readonly terminal?: FakeTerminal
  readonly env?: Readonly<Record<string, string | undefined>>
  readonly cwd?: string
  readonly clock?: Clock
  readonly table?: Table
}

export interface Ran {
  readonly code: ExitCode
  readonly out: string
  readonly err: string
}

export async function parley(args: readonly string[], around: Surroundings = {}): Promise<Ran> {
  const terminal = around.terminal ?? new FakeTerminal()
  const { node } = around
  const code = await main(args, {
    env: around.env ?? {},
    cwd: around.cwd ?? '/nowhere',
    clock: around.clock ?? terminal.clock,
    version: '1.2.3',
    table: around.table ?? commandTable,
    terminal: () => terminal,
    connect: () => async choice => {
      if (!node) throw new Error('the test did not bring a node')
      return typeof node === 'function' ? node(choice ?? {}) : node
    },
  })
  return { code, out: terminal.output, err: terminal.errors }
}
