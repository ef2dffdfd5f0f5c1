// What every request to begin an integration may say, whatever its mode: why it comes now (W-INT-09).
import { bodyLimits } from '@parley/trail/events'
import { invalidArgument, type Refusal } from '../refusal.ts'

export function basisProblem(basis: unknown): Refusal | undefined {
  if (basis === undefined) return undefined
  if (typeof basis === 'string' && basis !== '' && basis.length <= bodyLimits.nameLength) return undefined
  return invalidArgument(`The basis of an order is a text of 1 to ${bodyLimits.nameLength} characters.`)
}
