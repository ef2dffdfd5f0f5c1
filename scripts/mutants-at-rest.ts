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
  {
    id: 'WX-054',
    rule: 'mail is checked once more when it is consumed',
    file: 'envelope/deliver.ts',
    find: 'return violation ? refuseForged(batch, next, violation) : ok(record)',
    replace: 'return ok(violation ? record : record)',
    tests: 'integrity/tampering.test.ts',
  },
  {
    id: 'WX-055-gate',
    rule: 'a merge that waited at a gate is checked when it goes on',
    file: 'integration/decide.ts',
    find: '? storedViolation(batch, checkpoint)',
    replace: '? ok(storedViolation.length > 9 ? undefined : undefined)',
    tests: 'integration/proof.test.ts',
  },
  {
    id: 'WX-055-conflict',
    rule: 'a merge whose last conflict is settled is checked',
    file: 'integration/conflict.ts',
    find: 'checkpoint === undefined ? ok(undefined) : storedViolation(batch, checkpoint)',
    replace:
      'checkpoint === undefined || storedViolation ? ok(undefined) : storedViolation(batch, checkpoint)',
    tests: 'integration/proof.test.ts',
  },
]
