// From a command line to an exit code: parses, runs the command, shows errors. Nothing below it ends the process.
import type { ConnectChoice, Context, Environment, GlobalFlags, Table } from './command.ts'
import { EXIT, type ExitCode } from './exit.ts'
import { asFailure, type Failure, failureJson, failureLines } from './failure.ts'
import { cliLimits } from './limits.ts'
import { parseCommandLine } from './line/args.ts'
import { helpText } from './line/help.ts'
import { type Calls, nodeClient, onFirstUse } from './node/client.ts'
import { confirming } from './node/confirm.ts'
import { continuedText, remark } from './output.ts'
import type { Terminal } from './terminal.ts'

export interface Shell extends Omit<Environment, 'connect' | 'terminal'> {
  readonly version: string
  readonly table: Table
  terminal(global: GlobalFlags): Terminal
  connect(global: GlobalFlags): (choice?: ConnectChoice) => Promise<Calls>
}

export async function main(args: readonly string[], shell: Shell): Promise<ExitCode> {
  const parsed = await parseCommandLine(args, shell.table)
  const terminal = shell.terminal(parsed.global)
  switch (parsed.kind) {
    case 'wrong':
      return complain(parsed.failure, parsed.global, terminal)
    case 'version':
      terminal.out(parsed.global.json ? `${JSON.stringify({ version: shell.version })}\n` : `${shell.version}\n`)
      return EXIT.done
    case 'help':
      terminal.out(await helpText(parsed.topic, shell.table, Math.min(terminal.columns, cliLimits.helpColumns)))
      return EXIT.done
    case 'command': {
      const { env, cwd, clock, table } = shell
      const opened: { close(): void }[] = []
      const connect = shell.connect(parsed.global)
      const open = async (choice?: ConnectChoice) => {
        const calls = await connect({
          onContinued: runs => remark({ global: parsed.global, terminal }, continuedText(runs)),
          ...choice,
        })
        opened.push(calls)
        const asks = terminal.interactive && !parsed.global.json
        const fromInput = Boolean(parsed.input.flags['passphrase-stdin'])
        return confirming(calls, { terminal, clock, asks, fromInput })
      }
      const context: Context = {
        env,
        cwd,
        clock,
        terminal,
        table,
        global: parsed.global,
        connect: async choice => nodeClient(await open(choice)),
        api: nodeClient(onFirstUse(open)),
      }
      try {
        return (await parsed.command.run(context, parsed.input)) ?? EXIT.done
      } catch (thrown) {
        return complain(asFailure(thrown), parsed.global, terminal)
      } finally {
        for (const each of opened) each.close()
      }
    }
  }
}

function complain(failure: Failure, { json }: GlobalFlags, terminal: Terminal): ExitCode {
  const { paint, columns } = terminal
  terminal.err(`${json ? failureJson(failure) : failureLines(failure, paint, columns).join('\n')}\n`)
  return failure.exitCode
}
