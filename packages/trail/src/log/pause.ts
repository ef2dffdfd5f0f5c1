// Long work in slices: between two of them everybody else gets a turn.
export function pause(): Promise<void> {
  return new Promise(resolve => setImmediate(resolve))
}
