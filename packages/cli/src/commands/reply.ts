// `parley reply`: the answer to what an agent asks.
import { command } from '../command.ts'
import { GATE_OR_RUN, respond } from './respond.ts'
import { reasonOf } from './words.ts'

export const reply = command({
  name: 'reply',
  summary: 'Reply to an agent that cannot go on without an answer',
  args: [
    { ...GATE_OR_RUN, optional: false },
    { name: 'TEXT', summary: 'The reply, in quotes' },
  ],
  flags: {},
  examples: [
    ['parley reply last "The new database"', 'to the question of the newest run'],
    ['parley reply run_01m7:docs "In English"', 'to one of several, by run and task'],
  ],
  run: (context, { words }) => respond(context, words[0], 'reply', reasonOf(words[1])),
})
