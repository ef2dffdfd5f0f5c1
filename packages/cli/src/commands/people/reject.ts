// `parley reject`: rejects a gate or the plan of a run, or sends finished work back.
import { command } from '../../command.ts'
import { ALL_FLAG, GATE_OR_RUN, RESPOND_FLAGS, respond } from './respond.ts'

export default command({
  args: [GATE_OR_RUN],
  flags: {
    ...ALL_FLAG,
    again: { summary: 'Send finished work back: its task is done once more, and its agent reads the reason' },
    ...RESPOND_FLAGS,
  },
  examples: [
    ['parley reject', 'the only run that is waiting'],
    ['parley reject run_k3f9qz --reason "Too many files"', 'one of several, saying why'],
    ['parley reject gate_kkhydy --again --reason "Keep the old name"', 'finished work, to be done again'],
  ],
  run: (context, { flags, words }) => {
    const decision = { decision: 'reject', ...(flags.again && { again: true }) } as const
    return respond(context, words[0], decision, flags.reason, flags.all)
  },
})
