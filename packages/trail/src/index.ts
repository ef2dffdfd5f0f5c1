// The public names of @parley/trail.
export { ContentCipher } from './content/cipher.ts'
export { HmacKey } from './content/hmac.ts'
export { KEY_MARK } from './content/key-mark.ts'
export type { ContentKey } from './content/keys.ts'
export type { ContentScope } from './content/scope.ts'
export {
  type Entry,
  type EntryDraft,
  HASH_ALGORITHM,
  type ProposedEntry,
  type StoredRecord,
  stamp,
  type TrailObject,
} from './entry.ts'
export { EXPORT_CONTENTS } from './export/format.ts'
export { withFile } from './export/read.ts'
export { type ExportReport, verifyExport } from './export/verify-export.ts'
export { keyProblem, profileSigner } from './key-file.ts'
export { parsePublicKeys } from './keys/public-keys.ts'
export type { TrailKey } from './keys/trail-key.ts'
export { trailLimits } from './limits.ts'
export { lookAtTrail } from './look.ts'
export { openCold } from './open-cold.ts'
export { openTrail } from './open-trail.ts'
export { RUNTIME, type TrailReader } from './query/access.ts'
export { CausalOrder } from './query/causality.ts'
export { RunModel } from './query/model.ts'
export { type TrailAggregate, type TrailFilter, TrailFilterSchema, type TrailQuery } from './query/query.ts'
export type { Aggregated, QueryPage } from './query/run-query.ts'
export { views } from './query/views.ts'
export type { FollowedEntry } from './run/recent-records.ts'
export type { TrailState } from './run/run-state.ts'
export { type FollowedPage, type ReadableRun, RunTrail } from './run/run-trail.ts'
export type { StorageHost } from './storage/manager.ts'
export { fileStateCache, type StateCacheStore } from './store/state-files.ts'
export type { MoveProgress, TrailStore } from './store/store.ts'
export { Trail, type TrailRun } from './trail.ts'
export type { EntryProof } from './verify/entry-proof.ts'
export type { VerifyReport } from './verify/report.ts'
