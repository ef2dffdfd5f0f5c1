// Opening the embedded trail of a profile: `trail/` with the log and its index, `blobs/`, and the profile's key.
import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Worker } from 'node:worker_threads'
import { openError } from './errors.ts'
import { sqliteIndex, startIndexThread } from './index/sqlite-index.ts'
import { profileSigner } from './key-file.ts'
import { DiskFiles } from './log/disk-files.ts'
import type { Signer } from './signing.ts'
import { KeyRing } from './store/key-ring.ts'
import { lockFolder } from './store/lock.ts'
import { SegmentStore } from './store/segment-store.ts'
import { Trail } from './trail.ts'

export interface OpenTrailOptions {
  /** Who signs; `null` for nobody. By default the profile's own key, made on first use. */
  readonly signer?: Signer | null
  /** Sizes of segments; for tests. */
  readonly firstSegmentBytes?: number
  readonly segmentBytes?: number
}

/**
 * Opens the trail below a profile's folder, or makes it. Fails with `trail_locked`, `trail_read_only`, `trail_not_a_folder`,
 * `trail_full`, `key_unusable`. Damage does not stop it: see `Trail.damage`.
 */
export async function openTrail(profile: string, options: OpenTrailOptions = {}): Promise<Trail> {
  const store = await openSegmentStore(profile, options)
  try {
    const signer = options.signer === undefined ? profileSigner(profile) : (options.signer ?? undefined)
    const keys = new KeyRing(new DiskFiles(join(profile, 'trail')))
    if (signer) await keys.add(signer.id)
    return new Trail({ store, ...(signer && { signer, trusted: keys.all() }) })
  } catch (cause) {
    await store.close()
    throw openError(profile, cause)
  }
}

/** The store alone, on disk with its SQLite index. */
export async function openSegmentStore(
  profile: string,
  options: OpenTrailOptions = {},
): Promise<SegmentStore> {
  const folder = join(profile, 'trail')
  let release: (() => void) | undefined
  let thread: Worker | undefined
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    const lock = lockFolder(folder)
    release = () => lock.release()
    // Starting a thread takes as long as reading the log's end: both go on at once.
    thread = startIndexThread()
    return await SegmentStore.open({
      files: new DiskFiles(folder),
      blobs: new DiskFiles(join(profile, 'blobs')),
      index: ({ trail, end }) =>
        sqliteIndex({ folder, file: join(profile, 'trail.index.db'), trail, end }, thread),
      newTrail: () => randomBytes(16).toString('hex'),
      release,
      ...(options.firstSegmentBytes && { firstSegmentBytes: options.firstSegmentBytes }),
      ...(options.segmentBytes && { segmentBytes: options.segmentBytes }),
    })
  } catch (cause) {
    await thread?.terminate()
    release?.()
    throw openError(profile, cause)
  }
}
