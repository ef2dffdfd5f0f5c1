// Only Node.js has this: a call back between the last microtask and the next turn of the event loop.

/** Ticks run after the last microtask: consumers have then taken what they can, within the same turn. */
export function afterConsumers(run: () => void): void {
  queueMicrotask(() => process.nextTick(run))
}
