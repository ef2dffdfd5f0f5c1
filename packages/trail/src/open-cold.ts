// Opening a copy of the cold tier alone (W-TRAIL-26, 29): `trail/cold` of a profile or its replica, read-only. Its
// index is made in a temporary folder and removed when the trail is closed.
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ParleyError, type RunId } from '@parley/core'
import { coldKeyProblems, coldTrust } from './archive/cold-keys.ts'
import { COLD_BLOBS, coldFiles, runFolders, runOf, WHOLE } from './archive/layout.ts'
import type { ContentCipher } from './content/cipher.ts'
import { openError } from './errors.ts'
import { sqliteIndex } from './index/sqlite-index.ts'
import { DiskFiles } from './log/disk-files.ts'
import { SegmentStore } from './store/segment-store.ts'
import { Trail } from './trail.ts'

interface OpenColdOptions {
  /**
   * Known public keys; keys that sound endorsements in the copy connect to any of them may have signed, too. Without
   * any, a signature need only fit the key that it names.
   */
  readonly trusted?: ReadonlySet<string>
  readonly cipher?: ContentCipher
}

interface ColdTrail {
  /** The runs that are whole in the copy; whatever would change them fails with `trail_read_only`. */
  readonly trail: Trail
  /** Runs of which only a part has come to the cold tier yet. */
  readonly incomplete: readonly RunId[]
  /** What is wrong with the lists of keys in the copy: somebody has changed them, and nothing of that was believed. */
  readonly problems: readonly string[]
}

/** Fails with `cold_not_found` where there is no such folder. */
export async function openCold(folder: string, options: OpenColdOptions = {}): Promise<ColdTrail> {
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) {
    const message = `There is no folder ${folder}; name the cold tier of a trail or its replica.`
    throw new ParleyError('cold_not_found', message, { details: { folder } })
  }
  const scratch = mkdtempSync(join(tmpdir(), 'parley-cold-'))
  const release = () => rmSync(scratch, { recursive: true, force: true })
  try {
    const cold = new DiskFiles(folder, { readOnly: true })
    const problems = coldKeyProblems(cold)
    const store = await SegmentStore.open({
      files: coldFiles(cold),
      blobs: new DiskFiles(join(folder, COLD_BLOBS), { readOnly: true }),
      index: ({ trail, end }) =>
        sqliteIndex({ folder: scratch, cold: folder, file: join(scratch, 'index.db'), trail, end }),
      newTrail: () => randomBytes(16).toString('hex'),
      readOnly: true,
      release,
    })
    const { trusted, cipher } = options
    const incomplete = runFolders(cold, '').filter(name => !cold.exists(`${name}/${WHOLE}`))
    const trust = trusted && coldTrust(cold, trusted)
    return {
      trail: new Trail({ store, ...(trust && { trust }), ...(cipher && { cipher }) }),
      incomplete: incomplete.map(runOf),
      problems,
    }
  } catch (cause) {
    release()
    throw openError(folder, cause)
  }
}
