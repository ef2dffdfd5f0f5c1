// What a message can hold: JSON with Python's two kinds of number (ALP-ENV-04). An integral `number` and a `bigint` are
// integers, a `number` with a fraction is a float, and `Float` marks a float whose value does not show it: 1.0 and 1
// are signed differently.
export class Float {
  readonly value: number

  constructor(value: number) {
    this.value = value
  }
}

export interface WireObject {
  readonly [key: string]: WireValue
}

export type WireValue = null | boolean | string | number | bigint | Float | readonly WireValue[] | WireObject

export function isWireObject(value: WireValue | undefined): value is WireObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Float)
}

/** The integer that Python would read; undefined for a float, however round, and for everything else. */
export function integerOf(value: WireValue | undefined): number | bigint | undefined {
  if (typeof value === 'bigint') return value
  return Number.isInteger(value) ? (value as number) : undefined
}

/** The number of either kind; one that is too large for a double is infinite. */
export function numberOf(value: WireValue | undefined): number | undefined {
  if (typeof value === 'number') return value
  if (typeof value === 'bigint') return Number(value)
  return value instanceof Float ? value.value : undefined
}

/** A finite number above zero; 0 for everything else. */
export function amountOf(value: WireValue | undefined): number {
  const amount = numberOf(value)
  return amount !== undefined && Number.isFinite(amount) && amount > 0 ? amount : 0
}

/** A safe integer above zero; 0 for everything else. */
export function countOf(value: WireValue | undefined): number {
  const count = integerOf(value)
  return typeof count === 'number' && count > 0 ? count : 0
}

/** A float for the wire, whatever its value: `cost` is always one. */
export function float(value: number): Float {
  return new Float(value)
}
