// What requests about an integration may say, whatever its mode: why it comes now (W-INT-09), which overlap counts
// (AMB-55).
import { bodyLimits } from '@parley/trail/events'
import { invalidArgument, type Refusal } from '../refusal.ts'

export function basisProblem(basis: unknown): Refusal | undefined {
  if (basis === undefined) return undefined
  if (typeof basis === 'string' && basis !== '' && basis.length <= bodyLimits.nameLength) return undefined
  return invalidArgument(`The basis of an order is a text of 1 to ${bodyLimits.nameLength} characters.`)
}

export function baseAwareProblem(baseAware: unknown): Refusal | undefined {
  if (baseAware === undefined || typeof baseAware === 'boolean') return undefined
  return invalidArgument('Whether overlap with older integrations is ignored is true or false.')
}
