// `parley gates`: lists the gates that wait for a person, for scripts. People use `parley inbox`.
import { command } from '../../command.ts'
import { withWork } from '../../live/gate-work.ts'
import { machineFault } from '../../node/client.ts'
import { drawing, printHeld } from '../../output.ts'
import { gatesTable } from '../../render/runs.ts'
import { runHere } from '../which-run.ts'
import { OF_RUN } from '../words.ts'

export default command({
  args: [OF_RUN],
  examples: [
    ['parley gates', 'every gate of every run, with the work that is judged at it'],
    ['parley gates --json', 'in full, for a program that asks somebody'],
  ],
  async run(context, { words }) {
    const { gates } = await context.api.gates.list({ run: words[0] && (await runHere(context, words[0])) })
    const list = await withWork(
      context.api,
      gates.filter(({ kind }) => kind === 'gate'),
    )
    const machine = await machineFault(context.api)
    printHeld(context, { gates: list }, machine, () =>
      list.length > 0 ? gatesTable(list, drawing(context)) : ['No gate is waiting for you.'],
    )
  },
})
