// Time as the client sees it, so that tests need not wait.

export interface Timing {
  /** Milliseconds since 1970. */
  readonly now: () => number
  /** Resolves after so many milliseconds; rejects with the signal's reason as soon as it fires. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>
}

export const systemTiming: Timing = {
  now: () => Date.now(),
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason)
      const stop = () => {
        clearTimeout(timer)
        reject(signal.reason)
      }
      const timer = setTimeout(() => {
        signal.removeEventListener('abort', stop)
        resolve()
      }, ms)
      signal.addEventListener('abort', stop, { once: true })
    }),
}
