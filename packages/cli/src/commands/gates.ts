// `parley gates`: everything that waits for a person.
import { command } from '../command.ts'
import { EXIT } from '../exit.ts'
import { drawing, print } from '../output.ts'
import { gatesTable } from '../render/runs.ts'

export const gates = command({
  name: 'gates',
  summary: 'List what waits for a person',
  args: [],
  flags: {},
  examples: [
    ['parley gates', 'every run that waits for an answer'],
    ['parley gates --json', 'for a program that asks somebody'],
  ],
  async run(context) {
    const api = await context.connect()
    const list = await api.gates()
    print(context, { gates: list }, () =>
      list.length > 0 ? gatesTable(list, drawing(context)) : ['Nothing waits for you.'],
    )
    return EXIT.done
  },
})
