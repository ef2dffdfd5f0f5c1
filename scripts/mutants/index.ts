// Every mutant. `level-3` has the rules of level 3; `acting`, `at-rest`, `judgement`, `owners` and `sight` those that
// readers of the text alone found missing; `call*` those of the call protocol, `link` those of ALP.
import { ACTING } from './acting.ts'
import { AT_REST } from './at-rest.ts'
import { CALL } from './call.ts'
import { CALL_ENV } from './call-env.ts'
import { CALL_WIRE } from './call-wire.ts'
import { HIGHWAY } from './highway.ts'
import { JUDGEMENT } from './judgement.ts'
import { LEVEL_3 } from './level-3.ts'
import { LINK } from './link.ts'
import type { Mutant } from './mutant.ts'
import { OWNERS } from './owners.ts'
import { SIGHT } from './sight.ts'
import { WORK } from './work.ts'

export type { Mutant }
export const MUTANTS: readonly Mutant[] = [
  ...ACTING,
  ...AT_REST,
  ...CALL,
  ...CALL_ENV,
  ...CALL_WIRE,
  ...HIGHWAY,
  ...JUDGEMENT,
  ...LEVEL_3,
  ...LINK,
  ...OWNERS,
  ...SIGHT,
  ...WORK,
]
