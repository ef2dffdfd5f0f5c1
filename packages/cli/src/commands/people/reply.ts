// `parley reply`: answers the question of an agent.
import { command } from '../../command.ts'
import { Failure } from '../../failure.ts'
import { PASSPHRASE_FLAG } from '../../node/confirm.ts'
import { reasonOf } from '../words.ts'
import { answer, GATE_OR_RUN } from './respond.ts'

export default command({
  args: [
    { ...GATE_OR_RUN, name: 'QUESTION|RUN', optional: false },
    { name: 'TEXT', summary: 'The reply, in quotes', optional: true },
  ],
  flags: {
    abort: { summary: 'End the work that is asking' },
    delegate: { summary: 'Leave it to the coordinator: the agent decides on its own' },
    ...PASSPHRASE_FLAG,
  },
  examples: [
    ['parley reply last "The new database"', 'to the only question of the newest run'],
    ['parley reply sig_ps5fq2 "In English"', 'to one of several'],
    ['parley reply last --delegate', 'you do not know either'],
  ],
  run(context, { flags, words }) {
    const text = reasonOf(words[1])
    const given = [text !== undefined, flags.abort, flags.delegate].filter(Boolean).length
    if (given !== 1) {
      throw new Failure('usage', given === 0 ? 'No answer was given.' : 'Several answers were given.', {
        why: 'An answer is a text, --abort or --delegate.',
        next: 'parley reply last "…"',
      })
    }
    if (text !== undefined) return answer(context, words[0], { answer: 'envelope', text })
    return answer(context, words[0], { answer: flags.abort ? 'abort' : 'delegate' })
  },
})
