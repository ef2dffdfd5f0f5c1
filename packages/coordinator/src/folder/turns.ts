// One after the other for each key, in this process: git's own locks make the second caller fail instead of wait.

const tails = new Map<string, Promise<unknown>>()

export function inTurn<T>(key: string, work: () => Promise<T>): Promise<T> {
  const before = tails.get(key) ?? Promise.resolve()
  const mine = before.then(work, work)
  const settled = mine.catch(() => {})
  tails.set(key, settled)
  void settled.then(() => {
    if (tails.get(key) === settled) tails.delete(key)
  })
  return mine
}
