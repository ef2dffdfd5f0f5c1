// Opening the embedded trail of a profile: `trail/` with the log and its index, `blobs/`, and the profile's key.
import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Worker } from 'node:worker_threads'
import { formatTimestamp, ParleyError, SystemClock, type Ticks } from '@parley/core'
import { type FolderLock, lockFolder } from '@parley/keys/files'
import { diskReplica } from './archive/replica.ts'
import type { ContentCipher } from './content/cipher.ts'
import { checkKeyMark, leaveKeyMark } from './content/key-mark.ts'
import { openError } from './errors.ts'
import { sqliteIndex, startIndexThread } from './index/sqlite-index.ts'
import { profileKey } from './key-file.ts'
import { KeyRing } from './keys/key-ring.ts'
import { ProfileKeys } from './keys/profile-keys.ts'
import { DiskFiles } from './log/disk-files.ts'
import type { Signer } from './signing.ts'
import { SegmentStore } from './store/segment-store.ts'
import { Trail, type TrailOptions } from './trail.ts'

export interface OpenTrailOptions {
  /** Who signs; `null` for nobody. By default the profile's own key, made on first use. */
  readonly signer?: Signer | null
  /** Seals and opens content; without one it is written as it is. */
  readonly cipher?: ContentCipher
  /** Says since when a key is in use. */
  readonly now?: () => Ticks
  /** A folder on another device for a second copy of the cold tier. It must exist: it is never created. */
  readonly replica?: string
  /** Told of every commit of the log: its entries, and the milliseconds that writing and syncing them took. */
  readonly measured?: (entries: number, milliseconds: number) => void
  /** Sizes of segments; for tests. */
  readonly firstSegmentBytes?: number
  readonly segmentBytes?: number
}

/**
 * Opens the trail below a profile's folder, or makes it. Fails with `trail_in_use`, `trail_read_only`,
 * `trail_not_a_folder`, `trail_full`, `key_missing`, `key_unusable`, `key_mismatch`, `key_retired`, `keys_unreadable`,
 * `secret_mismatch`. Damage does not stop it: see `Trail.damage`.
 */
export async function openTrail(profile: string, options: OpenTrailOptions = {}): Promise<Trail> {
  const { cipher } = options
  requireSecret(profile, cipher)
  const store = await openSegmentStore(profile, options)
  try {
    if (cipher) await leaveKeyMark(new DiskFiles(join(profile, 'trail')), cipher)
    const signing = await openKeys(profile, options, store.floor)
    return new Trail({ store, ...signing, ...(cipher && { cipher }) })
  } catch (cause) {
    await store.close()
    throw openError(profile, cause)
  }
}

/** Before the lock is taken or anything is repaired. */
function requireSecret(profile: string, cipher: ContentCipher | undefined): void {
  try {
    if (cipher) checkKeyMark(new DiskFiles(join(profile, 'trail')), cipher)
  } catch (cause) {
    throw openError(profile, cause)
  }
}

/** Only the profile's own key can be replaced: another signer's is kept elsewhere. */
async function openKeys(
  profile: string,
  { signer, now = () => new SystemClock().now() }: OpenTrailOptions,
  floor: Ticks,
): Promise<Pick<TrailOptions, 'signer' | 'keys' | 'trust'>> {
  if (signer === null) return {}
  const ring = new KeyRing(new DiskFiles(join(profile, 'trail')))
  const at = formatTimestamp(now())
  const until = formatTimestamp(floor)
  if (!signer) return ProfileKeys.open(profileKey(profile), ring, at, until)
  await ring.use(signer.id, at, until)
  const trusted = new Set(ring.keys.map(({ key }) => key))
  return { signer, trust: () => ({ trusted }) }
}

export async function openSegmentStore(profile: string, options: OpenTrailOptions = {}): Promise<SegmentStore> {
  const folder = join(profile, 'trail')
  let release: (() => void) | undefined
  let thread: Worker | undefined
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    const lock = lockTrail(folder)
    release = () => lock.release()
    // Starting a thread takes as long as reading the log's end: both go on at once.
    thread = startIndexThread()
    return await SegmentStore.open({
      files: new DiskFiles(folder),
      blobs: new DiskFiles(join(profile, 'blobs')),
      index: ({ trail, end }) =>
        sqliteIndex({ folder, replica: options.replica, file: join(profile, 'trail.index.db'), trail, end }, thread),
      ...(options.replica !== undefined && { replica: diskReplica(options.replica) }),
      newTrail: () => randomBytes(16).toString('hex'),
      release,
      ...(options.firstSegmentBytes && { firstSegmentBytes: options.firstSegmentBytes }),
      ...(options.segmentBytes && { segmentBytes: options.segmentBytes }),
      measured: options.measured,
    })
  } catch (cause) {
    await thread?.terminate()
    release?.()
    throw openError(profile, cause)
  }
}

/** One process per trail. */
function lockTrail(folder: string): FolderLock {
  const lock = lockFolder(folder)
  if (lock.ok) return lock.value
  const { owner, cause } = lock.error
  const message = `The trail in ${folder} is in use by another process${owner && ` (${owner})`}. Only one process may write a trail; use that one, or stop it first.`
  throw new ParleyError('trail_in_use', message, { details: { folder }, cause })
}
