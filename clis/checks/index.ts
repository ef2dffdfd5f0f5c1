// Every check, in the order of the table.
import { doctor, key } from './access.ts'
import type { Check } from './check.ts'
import { abort, timeout } from './ends.ts'
import { budget, resume, review, verbs, verdict } from './team.ts'
import { troubleChecks } from './troubles.ts'
import { activity, answer, cost, file } from './turn.ts'
import { at, signs, slash } from './words.ts'

export const checks: readonly Check[] = [
  file,
  answer,
  cost,
  activity,
  verbs,
  resume,
  verdict,
  review,
  timeout,
  abort,
  ...troubleChecks,
  budget,
  slash,
  signs,
  at,
  key,
  doctor,
]
