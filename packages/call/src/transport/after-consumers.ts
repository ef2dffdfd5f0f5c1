// Only Node.js has this: a call back between the last microtask and the next turn of the event loop.

/**
 * Ticks wait until no microtask is left: consumers have then taken what they can, without a turn of the event loop for
 * it.
 */
export function afterConsumers(run: () => void): void {
  queueMicrotask(() => process.nextTick(run))
}
