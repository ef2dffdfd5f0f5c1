// `parley approve`: yes to a gate.
import { command } from '../../command.ts'
import { PASSPHRASE_FLAG } from '../../node/confirm.ts'
import { reasonOf } from '../words.ts'
import { GATE_OR_RUN, respond } from './respond.ts'

export default command({
  about: 'A run stands for its plan: each waiting task is approved individually, under your name.',
  args: [GATE_OR_RUN],
  flags: {
    reason: { type: 'text', value: 'TEXT', summary: 'The reason; it is recorded on the trail' },
    ...PASSPHRASE_FLAG,
  },
  examples: [
    ['parley approve', 'the only thing that is waiting, or the whole plan of the only waiting run'],
    ['parley approve run_01m7', 'one plan of several'],
    ['parley approve gate_01m7fsz83wkkhydy', 'one gate'],
  ],
  run: (context, { flags, words }) => respond(context, words[0], { decision: 'approve', ...because(flags.reason) }),
})

/** A reason, where one was given. */
export function because(given: string | undefined): { readonly reason?: string } {
  const reason = reasonOf(given)
  return reason === undefined ? {} : { reason }
}
