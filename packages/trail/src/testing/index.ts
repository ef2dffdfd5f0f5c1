// What tests, benchmarks, the simulator and demonstrations may use: a scripted run, damage to a trail at rest, a store
// in memory over disks that fail on command, the keys of a profile over any files, and names that only they need. The
// suite that every store passes is apart (`@parley/trail/compliance`), since it needs a test runner.
export type { Manifest } from '../archive/manifest.ts'
export { unwrapProven } from '../content/cipher.ts'
export type { StoredEntry } from '../entry.ts'
export type { ByteSource } from '../export/read.ts'
export type { VerifyExportOptions } from '../export/verify-export.ts'
export { KeyFile } from '../key-file.ts'
export { KeyRing } from '../keys/key-ring.ts'
export { ProfileKeys, type TrailKeys } from '../keys/profile-keys.ts'
export { type OpenTrailOptions, openSegmentStore } from '../open-trail.ts'
export type { Appended, Batch, Tier } from '../run/run-trail.ts'
export { ed25519Signer, type Signer } from '../signing.ts'
export type { StorageManager } from '../storage/manager.ts'
export type { TrailOptions } from '../trail.ts'
export { RunVerifier } from '../verify/verify.ts'
export { FaultyFiles } from './memory/faulty-files.ts'
export { IndexDisk } from './memory/index-disk.ts'
export {
  forgeMemoryLog,
  type MemoryDisks,
  type MemoryStoreOptions,
  memoryDisks,
  openMemoryCold,
  openMemoryStore,
} from './memory/open-memory.ts'
export { seededRandom } from './random.ts'
export { ScriptedRun } from './scripted-run.ts'
export { edited, tamper } from './tamper.ts'
