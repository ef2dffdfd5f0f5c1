// Rules about what lies at rest: kept states, mail, checkpoints and objects that were changed in the store, and how to break each.
import type { Mutant } from './mutants.ts'

export const AT_REST: readonly Mutant[] = [
  {
    id: 'WX-053-proof',
    rule: 'a kept state without a valid proof is passed over',
    file: 'integrity/state-proof.ts',
    find: 'return timingSafeEqual(proof, sealed.subarray(0, PROOF)) ? content : undefined',
    replace: 'return proof ? content : undefined',
    tests: 'runtime/state-cache.test.ts',
  },
  {
    id: 'WX-053-run',
    rule: 'the proof of a kept state is bound to its run',
    file: 'integrity/state-proof.ts',
    find: '.update(`${run}\\0`)',
    replace: ".update(run === '' ? '' : '\\0')",
    tests: 'runtime/state-cache.test.ts',
  },
]
