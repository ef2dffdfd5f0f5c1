// `parley approve`: yes to a gate.
import { command } from '../command.ts'
import { PASSPHRASE_FLAG } from '../confirm.ts'
import { GATE_OR_RUN, respond } from './respond.ts'
import { reasonOf } from './words.ts'

export const approve = command({
  name: 'approve',
  summary: 'Approve what waits for an answer',
  about:
    'A run stands for its plan: every task of it that waits is approved, each by itself and under your name.',
  args: [GATE_OR_RUN],
  flags: {
    reason: { type: 'text', value: 'TEXT', summary: 'Why; it is kept on the trail' },
    ...PASSPHRASE_FLAG,
  },
  examples: [
    ['parley approve', 'the only thing that waits, or the whole plan of the only run that waits'],
    ['parley approve run_01m7', 'the plan of one of several'],
    ['parley approve gate_01m7fsz83wkkhydy', 'one gate'],
  ],
  run: (context, { flags, words }) =>
    respond(context, words[0], { decision: 'approve', ...because(flags.reason) }),
})

/** A reason, where one was given. */
export function because(given: string | undefined): { readonly reason?: string } {
  const reason = reasonOf(given)
  return reason === undefined ? {} : { reason }
}
