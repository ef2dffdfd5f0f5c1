// From a command line to an exit code: parses, runs the command, shows what went wrong. Nothing below it ends the process.
import { parseCommandLine, type Table } from './args.ts'
import type { Context, Environment, GlobalFlags } from './command.ts'
import { confirming } from './confirm.ts'
import { EXIT, type ExitCode } from './exit.ts'
import { asFailure, type Failure, failureJson, failureLines } from './failure.ts'
import { helpText } from './help.ts'
import { cliLimits } from './limits.ts'
import type { Terminal } from './terminal.ts'

export interface Shell extends Omit<Environment, 'connect' | 'terminal'> {
  readonly version: string
  readonly table: Table
  terminal(global: GlobalFlags): Terminal
  connect(global: GlobalFlags): Environment['connect']
}

export async function main(args: readonly string[], shell: Shell): Promise<ExitCode> {
  const parsed = parseCommandLine(args, shell.table)
  const terminal = shell.terminal(parsed.global)
  switch (parsed.kind) {
    case 'wrong':
      return complain(parsed.failure, parsed.global, terminal)
    case 'version':
      terminal.out(
        parsed.global.json ? `${JSON.stringify({ version: shell.version })}\n` : `${shell.version}\n`,
      )
      return EXIT.done
    case 'help':
      terminal.out(
        helpText(parsed.topic, shell.table, {
          width: Math.min(terminal.columns, cliLimits.helpColumns),
        }),
      )
      return EXIT.done
    case 'command': {
      const { env, cwd, clock } = shell
      const opened: { close(): void }[] = []
      const connect = shell.connect(parsed.global)
      const context: Context = {
        env,
        cwd,
        clock,
        terminal,
        global: parsed.global,
        connect: async choice => {
          const api = await connect(choice)
          opened.push(api)
          return confirming(api, {
            terminal,
            clock,
            asks: terminal.interactive && !parsed.global.json,
            fromInput: Boolean(parsed.input.flags['passphrase-stdin']),
          })
        },
      }
      try {
        return await parsed.command.run(context, parsed.input)
      } catch (thrown) {
        return complain(asFailure(thrown), parsed.global, terminal)
      } finally {
        for (const each of opened) each.close()
      }
    }
  }
}

/** Results are on stdout, so complaints are on stderr, as JSON too. */
function complain(failure: Failure, { json }: GlobalFlags, terminal: Terminal): ExitCode {
  terminal.err(json ? `${failureJson(failure)}\n` : `${failureLines(failure, terminal.paint).join('\n')}\n`)
  return failure.exitCode
}
