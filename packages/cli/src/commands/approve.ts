// `parley approve`: yes to a gate.
import { command } from '../command.ts'
import { GATE_OR_RUN, respond } from './respond.ts'

export const approve = command({
  name: 'approve',
  summary: 'Approve what waits for an answer',
  args: [GATE_OR_RUN],
  flags: {},
  examples: [
    ['parley approve', 'the only run that waits'],
    ['parley approve run_01m7', 'one of several'],
  ],
  run: (context, { words }) => respond(context, words[0], 'approve', undefined),
})
