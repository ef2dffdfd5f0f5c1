// `parley approve`: approves a gate or the plan of a run.
import { verdict } from './respond.ts'

export default verdict('approve', {
  about: 'A run stands for its plan: each waiting task is approved individually, under your name.',
  examples: [
    ['parley approve', 'the only thing that is waiting, or the whole plan of the only waiting run'],
    ['parley approve run_01m7', 'one plan of several'],
    ['parley approve gate_01m7fsz83wkkhydy', 'one gate'],
  ],
})
