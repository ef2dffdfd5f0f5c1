// `parley up`: the node in the foreground, with its log; or in the background until it is stopped.
import type { runNode } from '@parley/node'
import { type Context, command } from '../../command.ts'
import { EXIT, type ExitCode, exitCodeOf } from '../../exit.ts'
import { adviceFor, Failure } from '../../failure.ts'
import { print, remark } from '../../output.ts'
import { duration } from '../../render/format.ts'

export default command({
  about:
    'Other commands start a node automatically if none is running; it stops when it has not been used for a while. This one keeps running. Ctrl-C stops it cleanly: running turns are ended, and run again at the next start.',
  flags: {
    detach: { summary: 'Run it in the background; `parley down` stops it' },
    turns: { value: 'N', whole: true, summary: 'The most turns at once, over all runs' },
    http: {
      value: 'PORT',
      whole: true,
      optional: true,
      summary: 'Open the HTTP surface, on this port (default: http.port of config.yaml, or 7424)',
    },
    'log-level': { value: 'LEVEL', choices: ['debug', 'info', 'warn', 'error', 'silent'], summary: 'What is logged' },
  },
  examples: [
    ['parley up', 'in the foreground, with its log'],
    ['parley up --detach --profile work', 'in the background, for another profile'],
    ['parley up --http 8080', 'with its HTTP surface on port 8080 of this machine'],
  ],
  async run(context, { flags }) {
    const { env, global } = context
    if (flags.detach) {
      const variables = {
        ...(flags.turns !== undefined && { PARLEY_TURNS: String(flags.turns) }),
        ...(flags['log-level'] !== undefined && { PARLEY_LOG_LEVEL: flags['log-level'] }),
        ...(flags.http !== undefined && { PARLEY_HTTP_ON: 'true' }),
        ...(typeof flags.http === 'number' && { PARLEY_HTTP_PORT: String(flags.http) }),
      }
      const api = await context.connect({ lasting: true, create: true, env: variables })
      const status = await api.node.status({})
      print(context, status, () => [
        `The node of profile '${status.profile}' is up: process ${status.pid}, ${status.socket}`,
        ...(status.http?.at ? [`HTTP: ${status.http.at}`] : []),
      ])
      if (status.http?.problem) remark(context, status.http.problem.message)
      else if (flags.http !== undefined && !status.http)
        remark(context, 'It was already running without HTTP. To open it: parley down, then this again.')
      if (status.idle_timeout_ms > 0)
        remark(
          context,
          `It was already running, started on demand: it stops after ${duration(status.idle_timeout_ms)} without use. To keep one running: parley down, then this again.`,
        )
      return
    }
    const { loadConfig, runNode } = await import('@parley/node')
    const nodeFlags = {
      profile: global.profile,
      turns: flags.turns === undefined ? undefined : String(flags.turns),
      'log-level': flags['log-level'],
      'http-on': flags.http === undefined ? undefined : 'true',
      'http-port': typeof flags.http === 'number' ? String(flags.http) : undefined,
    }
    const config = loadConfig({ flags: nodeFlags, env })
    if (!config.ok) throw config.error
    let complaint: string | undefined
    const how = await runNode({
      flags: nodeFlags,
      env,
      startedBy: 'up',
      ...(!global.quiet && { terminal: logTo(context) }),
      complain: text => {
        complaint = text.trim()
      },
    })
    const ended = endOf(how)
    if (complaint === undefined) return ended.exit
    throw new Failure(ended.code, complaint, adviceFor(ended.code))
  },
})

/** Lines for people; one JSON value per line for programs. */
function logTo({ terminal, global }: Context) {
  if (!global.json) return { write: (text: string) => terminal.out(text), colour: terminal.paint('good', 'x') !== 'x' }
  return { write: (text: string) => terminal.out(`${JSON.stringify(logEntry(text))}\n`) }
}

/** Reads `12:03:04 info  the node is up pid=7`, the form of the log on a terminal. */
function logEntry(line: string): Readonly<Record<string, string>> {
  const [, time, level, text] = /^(\d\d:\d\d:\d\d) (\w+) +(.*)$/s.exec(line.trimEnd()) ?? []
  if (time === undefined || level === undefined || text === undefined) return { text: line.trimEnd() }
  return { time, level, text }
}

/** The error code and exit code of the command for what the node ended with. */
function endOf(how: NodeExit): { readonly code: string; readonly exit: ExitCode } {
  const known = CODES[how]
  if (known) return { code: known, exit: exitCodeOf(known) }
  const exit = how === 'clean' ? EXIT.done : how === 'defect' ? EXIT.defect : EXIT.failed
  return { code: 'node_start_failed', exit }
}

type NodeExit = Awaited<ReturnType<typeof runNode>>

const CODES: { readonly [Name in NodeExit]?: string } = {
  invalidConfig: 'invalid_config',
  profileInUse: 'profile_in_use',
  profileUnusable: 'profile_unusable',
  machineFault: 'machine_fault',
}
