// The public names of @parley/trail.

export { RUNTIME, type TrailReader } from './access.ts'
export type { Manifest } from './archive/manifest.ts'
export type { ReplicaReport, TierFigures, TierReport } from './archive/tier-report.ts'
export { CausalOrder, type Relation } from './causality.ts'
export {
  type CompactionProgress,
  Compactor,
  type CompactorOptions,
  type PendingRun,
  type RunCompaction,
} from './compactor.ts'
export {
  ContentCipher,
  type ContentPlace,
  type ContentProof,
  isSealed,
  openObject,
  SEALINGS,
  type Sealing,
  sealingOf,
  unwrapProven,
} from './content/cipher.ts'
export { HmacKey } from './content/hmac.ts'
export { KEY_MARK } from './content/key-mark.ts'
export { type ContentKey, type ContentKeyRing, ContentKeys } from './content/keys.ts'
export type { RunContent } from './content/run-content.ts'
export type { ContentScope } from './content/scope.ts'
export {
  type Entry,
  type EntryDraft,
  type EntryIntegrity,
  HASH_ALGORITHM,
  type ProposedEntry,
  type StoredEntry,
  type StoredObject,
  type StoredRecord,
  stamp,
  type TrailObject,
} from './entry.ts'
export type { EntryProof } from './entry-proof.ts'
export { EXPORT_CONTENTS, EXPORT_FORMAT, type ExportContent } from './export/format.ts'
export { type ByteSource, withFile } from './export/read.ts'
export {
  type ExportReport,
  SIGNATURE_CHECKS,
  type SignatureCheck,
  type VerifyExportOptions,
  verifyExport,
} from './export/verify-export.ts'
export type { Imported, ImportOptions } from './import/import-run.ts'
export { type CommitFault, IndexDisk } from './index/index-disk.ts'
export { keyProblem, profileSigner } from './key-file.ts'
export { parsePublicKeys } from './keys/public-keys.ts'
export { type Endorsement, fingerprint, isPublicKey, type TrailKey } from './keys/trail-key.ts'
export { type Compacted, type Retention, RunLifecycle, TIERS, type Tier } from './lifecycle.ts'
export { trailLimits } from './limits.ts'
export type { BlobReport } from './log/blobs.ts'
export { FaultyFiles } from './log/faulty-files.ts'
export { seededRandom } from './log/random.ts'
export { lookAtTrail } from './look.ts'
export { RunModel, type WorkspaceFacts } from './model.ts'
export { type ColdTrail, type OpenColdOptions, openCold } from './open-cold.ts'
export {
  forgeMemoryLog,
  type MemoryDisks,
  type MemoryStoreOptions,
  memoryDisks,
  openMemoryCold,
  openMemoryStore,
} from './open-memory.ts'
export { type OpenTrailOptions, openSegmentStore, openTrail } from './open-trail.ts'
export {
  AGGREGATE_DIMENSIONS,
  type AggregateDimension,
  type TrailAggregate,
  TrailAggregateSchema,
  type TrailFilter,
  TrailFilterSchema,
  type TrailQuery,
  TrailQuerySchema,
} from './query.ts'
export type { Aggregated, QueryPage } from './run-query.ts'
export type { ReplayOptions } from './run-reading.ts'
export type { TrailState } from './run-state.ts'
export { type Appended, type Batch, RunTrail } from './run-trail.ts'
export { ed25519Signer, type Signer, signatureValid } from './signing.ts'
export { fileStateCache, type StateCacheStore, type StateSealing } from './store/state-files.ts'
export type {
  AggregateRow,
  Damage,
  MoveProgress,
  Position,
  RecordTier,
  RestoreReport,
  RunHead,
  RunSummary,
  TrailStore,
  WorkspaceSpan,
} from './store/store.ts'
export {
  type ImportedFrom,
  Trail,
  type TrailExportOptions,
  type TrailOptions,
  type TrailReport,
  type TrailRun,
} from './trail.ts'
export {
  DAMAGE_KINDS,
  type DamageKind,
  type Finding,
  RunVerifier,
  type VerifyOptions,
  type VerifyReport,
} from './verify.ts'
export { verifyLocal } from './verify-local.ts'
export {
  compareRuns,
  type HighwayView,
  highwayActivity,
  type MessageEdge,
  type MessageFlow,
  messageFlow,
  type RunMetrics,
  type RunOverview,
  runOverview,
  STATE_CATEGORIES,
  type StateCategory,
  stateCategory,
  type TimelineView,
  workspaceTimeline,
} from './views.ts'
