// Whose version of a file is taken where a person decides. The first line of WACP's resolution is the decision; the
// rest is shown to the person.
export const SIDES = ['incoming', 'existing'] as const
export type Side = (typeof SIDES)[number]

/** The proposal that a person approves, or answers with the other side. */
export function sideText(side: Side, shown: string): string {
  return `${side}\n${shown}`
}

/** Undefined for a resolution that is no such decision. */
export function sideOf(resolution: string): Side | undefined {
  const [first] = resolution.split('\n', 1)
  return SIDES.find(side => side === first)
}
