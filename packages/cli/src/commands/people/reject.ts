// `parley reject`: no to a gate.
import { verdict } from './respond.ts'

export default verdict('reject', {
  examples: [
    ['parley reject', 'the only run that is waiting'],
    ['parley reject run_01m7 --reason "Too many files"', 'one of several, saying why'],
  ],
})
