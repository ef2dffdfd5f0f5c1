// `parley approve`: approves a gate or the plan of a run.
import { verdict } from './respond.ts'

export default verdict('approve', {
  about: 'A run stands for its plan: each waiting task is approved individually, under your name.',
  examples: [
    ['parley approve', 'the only thing that is waiting, or the whole plan of the only waiting run'],
    ['parley approve run_k3f9qz', 'one plan of several'],
    ['parley approve gate_kkhydy', 'one gate'],
    ['parley approve last --all', 'everything of the newest run that waits for a yes'],
  ],
})
