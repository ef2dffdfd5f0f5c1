// A node as the whole life of a process: `parley up` in the foreground, main.ts in the background. Signals and uncaught
// errors end it cleanly where that is still possible, and the exit code says how it went.
import { constants } from 'node:os'
import { asParleyError, machineFaultOf, type ParleyError } from '@parley/core'
import { type Config, type LoadOptions, loadConfig } from './config/load.ts'
import type { NodeExit } from './exit.ts'
import { type NodeLog, openLog } from './log/log.ts'
import { watchLoop } from './log/loop-watch.ts'
import { Node, type NodeOptions } from './node.ts'
import { prepareProfile } from './profile/paths.ts'
import type { StartedBy } from './reach/node-file.ts'

export interface RunNodeOptions extends LoadOptions, Pick<NodeOptions, 'clock' | 'conduct' | 'functions'> {
  readonly startedBy: StartedBy
  /** Where people watch. */
  readonly terminal?: { readonly write: (text: string) => unknown; readonly colour?: boolean }
  /** Where the reason goes of a node that could not start. */
  readonly complain: (text: string) => unknown
  /** Told when the socket answers. */
  readonly started?: (node: Node) => void
}

/** Resolves to how it ended when the node has stopped. It does not exit by itself, except for a second signal. */
export async function runNode(options: RunNodeOptions): Promise<NodeExit> {
  const { complain } = options
  const config = loadConfig(options)
  const ready = config.ok ? prepareProfile(config.value.paths) : config
  if (!config.ok || !ready.ok) return refused(ready.ok ? undefined : ready.error, complain)
  const log = openLog({
    level: config.value.values.logLevel,
    file: config.value.paths.log,
    ...(options.terminal && { terminal: options.terminal }),
  })
  const unwatch = watchLoop(log, config.value.values.logLevel, config.value.paths.log)
  try {
    return await live(config.value, log, options)
  } finally {
    unwatch()
    log.close()
  }
}

/** A terminal that is closed sends the last one. */
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

async function live(config: Config, log: NodeLog, options: RunNodeOptions): Promise<NodeExit> {
  const fatal = Promise.withResolvers<'defect'>()
  const asked = Promise.withResolvers<string>()
  const uncaught = (cause: unknown) => {
    // No room, files or memory: that is no defect, and no reason to end what goes on.
    if (machineFaultOf(cause)) {
      log.error('an error of the machine was not caught; the node goes on', { cause })
      return
    }
    log.error('an error was not caught; the node stops', { cause })
    fatal.resolve('defect')
  }
  const signalled = (signal: NodeJS.Signals) => {
    if (signals++ > 0) process.exit(128 + constants.signals[signal])
    asked.resolve(signal)
  }
  let signals = 0
  process.on('uncaughtException', uncaught).on('unhandledRejection', uncaught)
  for (const signal of SIGNALS) process.on(signal, signalled)
  try {
    const node = await Node.start({ ...options, config, log })
    if (!node.ok) {
      const { code, message, cause } = node.error
      // The log belongs to the node that has the profile.
      if (code === 'profile_in_use') return refused(node.error, options.complain)
      log.error(message, { code, cause })
      return refused(node.error, options.terminal ? () => undefined : options.complain)
    }
    options.started?.(node.value)
    const why = await Promise.race([fatal.promise, asked.promise, node.value.stopped.then(() => 'stopped')])
    const { hanging } = await node.value.stop(why === 'defect' ? 'uncaught error' : why)
    return why === 'defect' || hanging.length > 0 ? 'defect' : 'clean'
  } catch (thrown) {
    log.error('the node could not start', { cause: thrown })
    return refused(asParleyError(thrown), options.complain)
  } finally {
    process.off('uncaughtException', uncaught).off('unhandledRejection', uncaught)
    for (const signal of SIGNALS) process.off(signal, signalled)
  }
}

function refused(error: ParleyError | undefined, complain: (text: string) => unknown): NodeExit {
  if (!error) return 'failed'
  complain(`${error.message}\n`)
  if (machineFaultOf(error)) return 'machineFault'
  return EXIT_OF[error.code] ?? 'failed'
}

const EXIT_OF: Readonly<Record<string, NodeExit>> = {
  invalid_config: 'invalidConfig',
  invalid_profile: 'invalidConfig',
  machine_fault: 'machineFault',
  profile_in_use: 'profileInUse',
  profile_unusable: 'profileUnusable',
  secret_missing: 'profileUnusable',
  secret_mismatch: 'profileUnusable',
  key_missing: 'profileUnusable',
  key_unusable: 'profileUnusable',
  key_mismatch: 'profileUnusable',
  key_retired: 'profileUnusable',
  keys_unreadable: 'profileUnusable',
  trail_read_only: 'profileUnusable',
  trail_not_a_folder: 'profileUnusable',
}
