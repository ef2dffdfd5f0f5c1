// `parley reject`: rejects a gate or the plan of a run.
import { verdict } from './respond.ts'

export default verdict('reject', {
  examples: [
    ['parley reject', 'the only run that is waiting'],
    ['parley reject run_k3f9qz --reason "Too many files"', 'one of several, saying why'],
  ],
})
