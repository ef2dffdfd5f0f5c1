// `parley down`: stops the node of a profile, cleanly. Runs are not ended by it: the next node goes on with them.
import { command } from '../command.ts'
import { EXIT } from '../exit.ts'
import { asFailure, Failure } from '../failure.ts'
import { endedInTime } from '../no-node.ts'
import { print } from '../output.ts'
import { plural } from '../render/format.ts'

export const down = command({
  name: 'down',
  summary: 'Stop the node of this profile; its runs go on when one is started again',
  args: [],
  flags: {},
  examples: [
    ['parley down', 'where no node runs, nothing happens'],
    ['parley down --profile work --json', 'of another profile, for a program'],
  ],
  async run(context) {
    try {
      const api = await context.connect({ start: false, anyVersion: true })
      const { pid, profile, runs, clients } = await api.status()
      await api.stop('parley down')
      const left = runs.working + runs.waiting
      const others = clients - 1
      if (!(await endedInTime(pid, context.clock))) throw notEnded(pid)
      print(context, { profile, pid, stopped: true }, () => [
        `The node of profile '${profile}' (process ${pid}) has stopped.`,
        ...(left > 0 ? [`${plural(left, 'run')} will go on with the next node.`] : []),
        ...(others > 0
          ? [
              `${plural(others, 'other command is', 'other commands are')} connected: one that watches a run starts another node. End it first to keep the node down.`,
            ]
          : []),
      ])
    } catch (thrown) {
      const { code, details } = asFailure(thrown)
      if (code !== 'node_not_running') throw thrown
      const { pid } = details
      if (typeof pid === 'number' && !(await endedInTime(pid, context.clock))) throw notEnded(pid)
      print(context, { stopped: false }, () => ['No node is running.'])
    }
    return EXIT.done
  },
})

function notEnded(pid: number): Failure {
  return new Failure('node_unreachable', `The node was told to stop, but process ${pid} has not ended.`, {
    why: 'Something in it hangs. No other node can use the profile until it has ended.',
    next: `\`kill -KILL ${pid}\` ends it. Its runs go on with the next node.`,
    details: { pid },
  })
}
