// `parley up`: the node in the foreground, one line for each thing that happens; or in the background until it is
// stopped.
import { type Context, command } from '../../command.ts'
import { EXIT, type ExitCode } from '../../exit.ts'
import { adviceFor, Failure } from '../../failure.ts'
import { print, remark } from '../../output.ts'
import { duration } from '../../render/format.ts'

export default command({
  about:
    'Other commands start a node automatically if none is running; it stops when it has not been used for a while. This one keeps running. Ctrl-C stops it cleanly: running turns are ended, and run again at the next start.',
  flags: {
    detach: { type: 'boolean', summary: 'Run it in the background; `parley down` stops it' },
    turns: { type: 'integer', value: 'N', summary: 'The most turns at once, over all runs' },
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
    const { env, global } = context
    if (flags.detach) {
      const variables = {
        ...(flags.turns !== undefined && { PARLEY_TURNS: String(flags.turns) }),
        ...(flags['log-level'] !== undefined && { PARLEY_LOG_LEVEL: flags['log-level'] }),
      }
      const api = await context.connect({ lasting: true, create: true, env: variables })
      const status = await api.node.status({})
      print(context, status, () => [
        `The node of profile '${status.profile}' is up: process ${status.pid}, ${status.socket}`,
      ])
      if (status.idle_timeout_ms > 0)
        remark(
          context,
          `It was already running, started on demand: it stops after ${duration(status.idle_timeout_ms)} without use. To keep one running: parley down, then this again.`,
        )
      return
    }
    const { loadConfig, NODE_EXIT, runNode } = await import('@parley/node')
    const nodeFlags = {
      profile: global.profile,
      turns: flags.turns === undefined ? undefined : String(flags.turns),
      'log-level': flags['log-level'],
    }
    const config = loadConfig({ flags: nodeFlags, env })
    if (!config.ok) throw config.error
    let complaint: string | undefined
    const code = await runNode({
      flags: nodeFlags,
      env,
      startedBy: 'up',
      ...(!global.quiet && { terminal: logTo(context) }),
      complain: text => {
        complaint = text.trim()
      },
    })
    const exit = exitCodeOfNode(code, NODE_EXIT)
    if (complaint === undefined) return exit
    throw new Failure(codeOfExit(code, NODE_EXIT), complaint, adviceFor(codeOfExit(code, NODE_EXIT)))
  },
})

/** The log where people watch it; for programs one JSON value a line. */
function logTo({ terminal, global }: Context) {
  if (!global.json) return { write: (text: string) => terminal.out(text), colour: terminal.paint('good', 'x') !== 'x' }
  return { write: (text: string) => terminal.out(`${JSON.stringify(logEntry(text))}\n`) }
}

/** From `12:03:04 info  the node is up pid=7`, which is the form that the node gives to whoever watches. */
export function logEntry(line: string): Readonly<Record<string, string>> {
  const [, time, level, text] = /^(\d\d:\d\d:\d\d) (\w+) +(.*)$/s.exec(line.trimEnd()) ?? []
  if (time === undefined || level === undefined || text === undefined) return { text: line.trimEnd() }
  return { time, level, text }
}

function codeOfExit(code: number, NODE_EXIT: NodeExit): string {
  switch (code) {
    case NODE_EXIT.invalidConfig:
      return 'invalid_config'
    case NODE_EXIT.profileInUse:
      return 'profile_in_use'
    case NODE_EXIT.profileUnusable:
      return 'profile_unusable'
    case NODE_EXIT.machineFault:
      return 'machine_fault'
    default:
      return 'node_start_failed'
  }
}

type NodeExit = Readonly<
  Record<'clean' | 'defect' | 'profileUnusable' | 'machineFault' | 'profileInUse' | 'invalidConfig', number>
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
    case NODE_EXIT.machineFault:
      return EXIT.heldUp
    case NODE_EXIT.defect:
      return EXIT.defect
    default:
      return EXIT.failed
  }
}
