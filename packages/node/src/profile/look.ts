// What of a profile would keep its node from starting, for commands that have no node. Nothing is written, and nothing
// is made.
import { lstatSync, readFileSync } from 'node:fs'
import { asParleyError, ParleyError } from '@parley/core'
import { lookAtTrail } from '@parley/trail'
import { nodeLimits } from '../limits.ts'
import type { ProfilePaths } from './paths.ts'

export function lookAtRecord({
  folder,
  secret: file,
}: Pick<ProfilePaths, 'folder' | 'secret'>): ParleyError | undefined {
  let secret: Uint8Array | undefined
  try {
    if (lstatSync(file, { throwIfNoEntry: false })) secret = readFileSync(file)
  } catch (cause) {
    return asParleyError(cause)
  }
  if (secret && secret.length !== nodeLimits.secretBytes) return secretLength(file, secret.length)
  return lookAtTrail(folder, secret)
}

export function secretLength(file: string, length: number): ParleyError {
  const message = `The profile's secret ${file} has ${length} bytes instead of ${nodeLimits.secretBytes}. Restore it from a backup.`
  return new ParleyError('profile_unusable', message, { details: { file } })
}
