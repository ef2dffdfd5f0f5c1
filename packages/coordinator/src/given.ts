// Objects with optional members.

/** The members that are not undefined. */
export function given<T extends object>(members: T): { [Name in keyof T]?: Exclude<T[Name], undefined> } {
  const known = Object.entries(members).filter(([, value]) => value !== undefined)
  return Object.fromEntries(known) as ReturnType<typeof given<T>>
}
