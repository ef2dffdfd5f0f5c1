// `parley down`: stops the node of a profile cleanly. The next node continues its runs.
import { command } from '../../command.ts'
import { asFailure, Failure } from '../../failure.ts'
import { endedInTime } from '../../node/no-node.ts'
import { print } from '../../output.ts'
import { plural } from '../../render/format.ts'

export default command({
  examples: [
    ['parley down', 'does nothing if no node is running'],
    ['parley down --profile work --json', 'of another profile, for a program'],
  ],
  async run(context) {
    try {
      const api = await context.connect({ start: false, anyVersion: true })
      const { pid, profile, runs, clients } = await api.node.status({})
      await api.node.stop({ reason: 'parley down' })
      // An older node does not tell it.
      const left = runs.working + runs.waiting - (runs.for_peers ?? 0)
      const others = clients - 1
      if (!(await endedInTime(pid, context.clock))) throw notEnded(pid)
      print(context, { profile, pid, stopped: true }, () => [
        `The node of profile '${profile}' (process ${pid}) has stopped.`,
        ...(left > 0 ? [`${plural(left, 'run')} will continue with the next node.`] : []),
        ...(others > 0
          ? [
              `${plural(others, 'other command is', 'other commands are')} connected: a command that watches a run starts another node. End it first to keep the node down.`,
            ]
          : []),
      ])
    } catch (thrown) {
      const { code, details } = asFailure(thrown)
      if (code !== 'node_not_running') throw thrown
      const { pid, socket } = details
      if (typeof pid === 'number' && !(await endedInTime(pid, context.clock))) throw notListening(pid, String(socket))
      print(context, { stopped: false }, () => ['No node is running.'])
    }
  },
})

function notEnded(pid: number): Failure {
  return new Failure('node_unreachable', `The node was told to stop, but process ${pid} has not ended.`, {
    why: 'Something in it hangs. No other node can use the profile until the process has ended.',
    next: `\`kill -KILL ${pid}\` ends it. Its runs continue with the next node.`,
    details: { pid },
  })
}

/** It hangs while stopping, or its socket was removed: the two look the same from here. */
function notListening(pid: number, socket: string): Failure {
  return new Failure('node_unreachable', `Process ${pid} is running, but it is not listening at ${socket}.`, {
    why: 'Its socket was removed, or it hangs while stopping. Nothing was sent to it. No other node can use the profile until the process has ended.',
    next: [
      `\`kill ${pid}\` asks it to stop. Its runs continue with the next node.`,
      `\`kill -KILL ${pid}\` ends it if that does not help.`,
    ],
    details: { pid, socket },
  })
}
