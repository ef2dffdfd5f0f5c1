// Values that several settings have in common, from text or from a value of the file; undefined for what they cannot
// be.
import { isAbsolute } from 'node:path'
import { nodeLimits } from '../limits.ts'

export function readFlag(value: unknown): boolean | undefined {
  if (typeof value === 'boolean') return value
  return value === 'true' ? true : value === 'false' ? false : undefined
}

export function readFolder(value: unknown): string | undefined {
  const usable = typeof value === 'string' && isAbsolute(value) && value.length <= nodeLimits.pathLength
  return usable ? value : undefined
}
