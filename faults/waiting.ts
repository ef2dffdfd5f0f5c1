// Waiting, always with an end: what does not come in time is a finding that says what was waited for.
import { faultTimes } from './limits.ts'

/** Something that must not be: what the checks find, told with what was looked at. */
export class Finding extends Error {
  override readonly name = 'Finding'
}

export function pause(milliseconds: number): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, milliseconds))
}

/** What `work` comes to, within the time. */
export async function within<T>(milliseconds: number, what: string, work: () => Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(
    () => late.reject(new Finding(`waited ${milliseconds} ms in vain for ${what}`)),
    milliseconds,
  )
  try {
    return await Promise.race([work(), late.promise])
  } finally {
    clearTimeout(timer)
  }
}

/** Looks until it is so, within the time; what the last look gave is returned. */
export async function until<T>(
  milliseconds: number,
  what: () => string,
  look: () => Promise<T | undefined | false> | T | undefined | false,
): Promise<T> {
  const end = performance.now() + milliseconds
  for (;;) {
    const seen = await look()
    if (seen !== undefined && seen !== false) return seen
    if (performance.now() > end) throw new Finding(`waited ${milliseconds} ms in vain for ${what()}`)
    await pause(faultTimes.look)
  }
}
