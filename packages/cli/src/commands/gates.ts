// `parley gates`, `parley escalations`: lists of what waits for a person, for scripts. `parley inbox` is for people.
import { command } from '../command.ts'
import { EXIT } from '../exit.ts'
import { drawing, print } from '../output.ts'
import { gatesTable } from '../render/runs.ts'

const RUN = { name: 'RUN', summary: 'Of this run only', optional: true } as const

export const gates = command({
  name: 'gates',
  summary: 'List gates that wait for a person',
  args: [RUN],
  flags: {},
  examples: [
    ['parley gates', 'every gate of every run'],
    ['parley gates --json', 'with all that each is about, for a program that asks somebody'],
  ],
  async run(context, { words }) {
    const api = await context.connect()
    const list = (await api.gates(words[0])).filter(({ kind }) => kind === 'gate')
    print(context, { gates: list }, () =>
      list.length > 0 ? gatesTable(list, drawing(context)) : ['No gate waits for you.'],
    )
    return EXIT.done
  },
})

export const escalations = command({
  name: 'escalations',
  summary: 'List questions of agents that wait for a person',
  args: [RUN],
  flags: {},
  examples: [
    ['parley escalations', 'every question of every run'],
    ['parley escalations last --json', 'those of the newest run, for a program'],
  ],
  async run(context, { words }) {
    const api = await context.connect()
    const list = (await api.gates(words[0])).filter(({ kind }) => kind === 'question')
    print(context, { questions: list }, () =>
      list.length > 0 ? gatesTable(list, drawing(context)) : ['No question waits for you.'],
    )
    return EXIT.done
  },
})
