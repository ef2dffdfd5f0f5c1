// `parley approve`: approves a gate or the plan of a run.
import { command } from '../../command.ts'
import { ALL_FLAG, GATE_OR_RUN, RESPOND_FLAGS, respond } from './respond.ts'

export default command({
  about: 'A run stands for its plan: each waiting task is approved individually, under your name.',
  args: [GATE_OR_RUN],
  flags: { ...ALL_FLAG, ...RESPOND_FLAGS },
  examples: [
    ['parley approve', 'the only thing that is waiting, or the whole plan of the only waiting run'],
    ['parley approve run_k3f9qz', 'one plan of several'],
    ['parley approve gate_kkhydy', 'one gate'],
    ['parley approve last --all', 'everything of the newest run that waits for a yes'],
  ],
  run: (context, { flags, words }) => respond(context, words[0], { decision: 'approve' }, flags.reason, flags.all),
})
