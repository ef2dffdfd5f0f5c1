// `parley down`: stops the node of a profile, cleanly. Runs are not ended by it: the next node goes on with them.
import { command } from '../command.ts'
import { EXIT } from '../exit.ts'
import { asFailure } from '../failure.ts'
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
      print(context, { profile, pid, stopped: true }, () => [
        `The node of profile '${profile}' (process ${pid}) stops.`,
        ...(left > 0 ? [`${plural(left, 'run')} will go on with the next node.`] : []),
        ...(others > 0
          ? [
              `${plural(others, 'other command is', 'other commands are')} connected: one that watches a run starts another node. End it first to keep the node down.`,
            ]
          : []),
      ])
    } catch (thrown) {
      if (asFailure(thrown).code !== 'node_not_running') throw thrown
      print(context, { stopped: false }, () => ['No node is running.'])
    }
    return EXIT.done
  },
})
