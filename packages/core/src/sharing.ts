// Work that many ask for at the same time and that need not be done for each of them.

/** Calls during a run share the next one: what they get was begun after they asked. */
export function sharing<Key, T>(work: (key: Key) => Promise<T>): (key: Key) => Promise<T> {
  const running = new Map<Key, Promise<T>>()
  const next = new Map<Key, Promise<T>>()
  const begin = (key: Key): Promise<T> => {
    next.delete(key)
    const begun = work(key).finally(() => {
      // Whoever calls before the next one begins shares that, and begins none beside it.
      if (!next.has(key)) running.delete(key)
    })
    running.set(key, begun)
    return begun
  }
  return key => {
    const current = running.get(key)
    if (!current) return begin(key)
    const after =
      next.get(key) ??
      current.then(
        () => begin(key),
        () => begin(key),
      )
    next.set(key, after)
    return after
  }
}
