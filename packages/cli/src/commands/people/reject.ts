// `parley reject`: no to a gate.
import { command } from '../../command.ts'
import { PASSPHRASE_FLAG } from '../../node/confirm.ts'
import { because } from './approve.ts'
import { GATE_OR_RUN, respond } from './respond.ts'

export default command({
  args: [GATE_OR_RUN],
  flags: {
    reason: { type: 'text', value: 'TEXT', summary: 'The reason; it is recorded on the trail' },
    ...PASSPHRASE_FLAG,
  },
  examples: [
    ['parley reject', 'the only run that is waiting'],
    ['parley reject run_01m7 --reason "Too many files"', 'one of several, saying why'],
  ],
  run: (context, { flags, words }) => respond(context, words[0], { decision: 'reject', ...because(flags.reason) }),
})
