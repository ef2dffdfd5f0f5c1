// The public names of @parley/trail.

export type { TrailReader } from './access.ts'
export type { Manifest } from './archive/manifest.ts'
export { CausalOrder, type Relation } from './causality.ts'
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
export { type Compacted, type Retention, RunLifecycle, TIERS, type Tier } from './lifecycle.ts'
export { trailLimits } from './limits.ts'
export type { BlobReport } from './log/blobs.ts'
export { FaultyFiles } from './log/faulty-files.ts'
export { seededRandom } from './log/random.ts'
export { RunModel, type WorkspaceFacts } from './model.ts'
export { type MemoryDisks, type MemoryStoreOptions, memoryDisks, openMemoryStore } from './open-memory.ts'
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
export type { TrailState } from './run-state.ts'
export {
  type Aggregated,
  type Appended,
  type Batch,
  type QueryPage,
  type ReplayOptions,
  RUNTIME,
  RunTrail,
} from './run-trail.ts'
export { ed25519Signer, type Signer, signatureValid } from './signing.ts'
export { fileStateCache, type StateCacheStore } from './store/state-files.ts'
export type {
  AggregateRow,
  Damage,
  Position,
  RunHead,
  RunSummary,
  TrailStore,
  WorkspaceSpan,
} from './store/store.ts'
export { Trail, type TrailOptions, type TrailReport } from './trail.ts'
export {
  DAMAGE_KINDS,
  type DamageKind,
  type Finding,
  RunVerifier,
  type VerifyOptions,
  type VerifyReport,
  verifyLocal,
} from './verify.ts'
export {
  compareRuns,
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
