// `content.key` in the trail's folder: the id of the secret that content was first sealed or proven with, so that a
// trail opened with another secret says so before anything is read or written. It reveals nothing.
import { ParleyError } from '@parley/core'
import { type Files, readWhole, writeWhole } from '../log/files.ts'
import type { ContentCipher } from './cipher.ts'

export const KEY_MARK = 'content.key'

/** Throws `secret_mismatch`. Nothing is written. */
export function checkKeyMark(files: Files, { keys }: Pick<ContentCipher, 'keys'>): void {
  const known = readWhole(files, KEY_MARK)?.toString('latin1').trim()
  if (known === undefined || known === keys.id) return
  const message =
    "The profile's secret is not the one that the content of its trail was sealed or proven with. Restore the file 'secret' of the profile from a backup; nothing was changed."
  throw new ParleyError('secret_mismatch', message, { details: { expected: known, actual: keys.id } })
}

/** Once content is sealed or proven, the mark stays. */
export async function leaveKeyMark(files: Files, { keys }: ContentCipher): Promise<void> {
  if (files.exists(KEY_MARK)) return
  await writeWhole(files, KEY_MARK, Buffer.from(`${keys.id}\n`))
}
