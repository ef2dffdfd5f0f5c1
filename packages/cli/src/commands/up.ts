// `parley up`: the node in the foreground, one line for each thing that happens; or in the background until it is stopped.
import { command } from '../command.ts'
import { EXIT, type ExitCode } from '../exit.ts'
import { print } from '../output.ts'

export const up = command({
  name: 'up',
  summary: 'Run the node of this profile',
  about:
    'Other commands start a node by themselves where none runs; it stops when nobody has needed it for a while. This one stays. Ctrl-C stops it cleanly: turns at work are ended, and the next start runs them again.',
  args: [],
  flags: {
    detach: { type: 'boolean', summary: 'Run it in the background; `parley down` stops it' },
    turns: { type: 'integer', value: 'N', summary: 'Turns at once over all runs' },
    'log-level': {
      type: 'text',
      value: 'LEVEL',
      choices: ['debug', 'info', 'warn', 'error', 'silent'],
      summary: 'What is logged',
    },
  },
  examples: [
    ['parley up', 'in the foreground, with its log'],
    ['parley up --detach --profile work', 'in the background, for another profile'],
  ],
  async run(context, { flags }) {
    const { env, terminal, global } = context
    if (flags.detach) {
      const variables = {
        ...(flags.turns !== undefined && { PARLEY_TURNS: String(flags.turns) }),
        ...(flags['log-level'] !== undefined && { PARLEY_LOG_LEVEL: flags['log-level'] }),
      }
      const api = await context.connect({ lasting: true, env: variables })
      const status = await api.status()
      print(context, status, () => [
        `The node of profile '${status.profile}' is up: process ${status.pid}, ${status.socket}`,
      ])
      return EXIT.done
    }
    const { NODE_EXIT, runNode } = await import('@parley/node')
    const code = await runNode({
      flags: {
        profile: global.profile,
        turns: flags.turns === undefined ? undefined : String(flags.turns),
        'log-level': flags['log-level'],
      },
      env,
      startedBy: 'up',
      ...(!global.quiet && {
        terminal: { write: text => terminal.out(text), colour: terminal.paint('good', 'x') !== 'x' },
      }),
      complain: text => terminal.err(`parley: ${text}`),
    })
    return exitCodeOfNode(code, NODE_EXIT)
  },
})

type NodeExit = Readonly<
  Record<'clean' | 'defect' | 'profileUnusable' | 'profileInUse' | 'invalidConfig', number>
>

export function exitCodeOfNode(code: number, NODE_EXIT: NodeExit): ExitCode {
  switch (code) {
    case NODE_EXIT.clean:
      return EXIT.done
    case NODE_EXIT.invalidConfig:
      return EXIT.invalidFile
    case NODE_EXIT.profileInUse:
    case NODE_EXIT.profileUnusable:
      return EXIT.refused
    case NODE_EXIT.defect:
      return EXIT.defect
    default:
      return EXIT.failed
  }
}
