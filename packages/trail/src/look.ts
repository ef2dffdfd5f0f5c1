// What would keep a node from opening a profile's trail, but for its key (`keyProblem`). Changes and locks nothing.
import { accessSync, constants, lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { ParleyError } from '@parley/core'
import { checkKeyMark } from './content/key-mark.ts'
import { ContentKeys } from './content/keys.ts'
import { openError } from './errors.ts'
import { readImports } from './import/import-record.ts'
import { KeyRing } from './keys/key-ring.ts'
import { DiskFiles } from './log/disk-files.ts'

/** The first problem, with the code and words of `openTrail`. `secret`: the content secret, where known. */
export function lookAtTrail(profile: string, secret?: Uint8Array): ParleyError | undefined {
  const folder = join(profile, 'trail')
  const found = lstatSync(folder, { throwIfNoEntry: false })
  try {
    if (!found) return undefined
    const files = new DiskFiles(folder, { readOnly: true })
    for (const { name } of readdirSync(folder, { withFileTypes: true }).filter(each => each.isFile()))
      accessSync(join(folder, name), constants.R_OK | constants.W_OK)
    readImports(files)
    new KeyRing(files)
    if (secret) checkKeyMark(files, { keys: new ContentKeys(secret) })
    return undefined
  } catch (cause) {
    const error = openError(profile, cause)
    return error instanceof ParleyError
      ? error
      : new ParleyError('trail_unavailable', `The trail in ${profile} cannot be looked at: ${String(error)}`)
  }
}
