/** The rule that the last event of a run breaks by its `ok`, if it does (ALX-SDK-06). */
export function outcomeRule({ type, ok }: { readonly type?: unknown; readonly ok?: unknown }): string | undefined {
  if (type === 'run.failed' && ok !== false) return 'WG-09'
  return type === 'run.completed' && ok !== true ? 'WG-10' : undefined
}
