// The half of the server that knows: Knowledge Blocks, settlements, feedback and the selection of artifacts, behind one
// object. All of it is derived from the library; the index of words is the only file, and can be deleted.
// Callers are authenticated and may do what they ask for (scopes are checked where tokens are); UNAUTHORIZED from here
// is therefore 403, but for `signedRequests`, where it is 401.
import {
  type FeedbackInput,
  type FeedbackRecord,
  type HashFn,
  type KbEnvelope,
  type KbLineage,
  type KbRecord,
  type KbRegisterInput,
  type KbRegistration,
  type KbVerification,
  type KbVerifyInput,
  type LearningInfo,
  type Result,
  type SettlementInput,
  type SolveArtifact,
  type SolveIntentShape,
  verifyKBArtifact,
} from '@alx/protocol'
import { type Clock, type IdSource, type Library, ParleyError, type Principal, type RunId } from '@parley/core'
import type { ArtifactSelector, Body, KnowledgeService, PlanExecutor, RatedRun } from '../ports.ts'
import { BlockIndex } from '../select/block-index.ts'
import { KnowledgeExecutor } from '../select/executor.ts'
import { IndexBroken } from '../select/index-thread.ts'
import { selectLimits } from '../select/limits.ts'
import { type RelatedBlock, relatedBlocks } from '../select/related.ts'
import { artifactOf, KnowledgeSelector } from '../select/selector.ts'
import { queryWords } from '../select/words.ts'
import { Feedback } from '../settle/feedback.ts'
import { Ledger } from '../settle/ledger.ts'
import { Ratings } from '../settle/ratings.ts'
import { type Reputation, reputationOf } from '../settle/reputation.ts'
import { type Settled, Settlements } from '../settle/settlements.ts'
import { type Block, Blocks, mayExecute, mayRead } from './blocks.ts'
import { Envelopes } from './envelopes.ts'
import { exportBlock, readExport } from './exchange.ts'
import { LibraryFold } from './library-fold.ts'
import { kbLimits } from './limits.ts'
import { type Direction, lineageOf } from './lineage.ts'
import type { TeamOutline } from './procedure.ts'
import { invalidRequest, kbNotFound, refused, unavailable } from './refusals.ts'
import { type KbAct, KbRegistry, type Maker } from './registry.ts'

export interface KnowledgeOptions {
  readonly library: Library
  readonly clock: Clock
  readonly ids: IdSource
  /** Of the profile: `alx.index.db`. */
  readonly indexFile: string
  readonly minConfidence: number
  /** 0 to 10000; by default that of the protocol. */
  readonly protocolFeeBps?: number
  readonly isSettlementPaused?: () => boolean
  /** The team that a domain has; undefined where its blocks are the answers. */
  readonly teamOf?: (domain: string) => TeamOutline | undefined
  /** Keccak-256 but in tests. */
  readonly hash?: HashFn
  /** For the log: a library that cannot be read, an index that is made again, a record that nobody understands. */
  readonly onProblem?: (problem: string, error?: Error) => void
}

export interface BlockQuery {
  readonly type?: string
  readonly domain?: string
  readonly status?: KbRecord['status']
  /** Only those that the reader registered. */
  readonly own?: boolean
  readonly limit?: number
  /** The `kbHash` behind which the page begins. */
  readonly after?: string
}

/** A block as the command line lists it. */
export type BlockEntry = Pick<
  Block,
  | 'kbHash'
  | 'kbId'
  | 'type'
  | 'domain'
  | 'curator'
  | 'createdAt'
  | 'status'
  | 'shared'
  | 'trusted'
  | 'made'
  | 'queryFee'
> & { readonly tier: SolveArtifact['tier'] }

export class Knowledge implements KnowledgeService {
  readonly selector: ArtifactSelector
  readonly executor: PlanExecutor
  readonly #blocks: Blocks
  readonly #ledger: Ledger
  readonly #ratings: Ratings
  readonly #fold: LibraryFold
  readonly #envelopes: Envelopes
  readonly #registry: KbRegistry
  readonly #settlements: Settlements
  readonly #feedback: Feedback
  readonly #index: BlockIndex

  /** Resolves when everything on record is known; the index may still be learning. */
  static async open(options: KnowledgeOptions): Promise<Knowledge> {
    const knowledge = new Knowledge(options)
    try {
      await knowledge.#fold.open()
    } catch (thrown) {
      await knowledge.close()
      throw thrown
    }
    return knowledge
  }

  private constructor(options: KnowledgeOptions) {
    const { library, clock, ids, hash, onProblem, protocolFeeBps, isSettlementPaused: isPaused } = options
    const onUnreadable = ({ at, type }: { at: number; type: string }) =>
      onProblem?.(`record ${at} of the library is no ${type} that this version knows; it is passed over`)
    const blocks = new Blocks(onUnreadable)
    const ledger = new Ledger(onUnreadable)
    const ratings = new Ratings(onUnreadable)
    const onFailure = (error: ParleyError) => onProblem?.('the library could not be read; it is tried again', error)
    const fold = new LibraryFold({ library, clock, folds: [blocks, ledger, ratings], onFailure })
    const envelopes = new Envelopes(library)
    this.#index = new BlockIndex({
      library,
      clock,
      file: options.indexFile,
      onFailure: error => onProblem?.('the index of Knowledge Blocks is behind or is made again', error),
    })
    this.#registry = new KbRegistry({ fold, blocks, hash })
    this.#settlements = new Settlements({ library, fold, blocks, ledger, protocolFeeBps, isPaused })
    this.#feedback = new Feedback({ fold, ratings, ids })
    this.selector = new KnowledgeSelector({
      ...{ blocks, envelopes, ledger, ratings, clock, hash, index: this.#index },
      position: () => fold.at,
      minConfidence: options.minConfidence,
      teamOf: options.teamOf,
      onDegraded: error => onProblem?.('the selection knew exact matches only', error),
    })
    this.executor = new KnowledgeExecutor({
      teamOf: options.teamOf,
      mayExecute: (user, kbHash) => this.mayExecute(user, kbHash),
      relatedBlocks: (intent, reader) => this.relatedBlocks(intent, reader),
    })
    this.#blocks = blocks
    this.#ledger = ledger
    this.#ratings = ratings
    this.#fold = fold
    this.#envelopes = envelopes
  }

  async close(): Promise<void> {
    this.#fold.close()
    await this.#index.close()
  }

  /** Blocks that are registered. */
  get count(): number {
    return this.#blocks.count
  }

  /** ALX-KB-12. `isNew` is the difference between 201 and 200. */
  register(input: KbRegisterInput, by: Principal): Promise<Result<Body<KbRegistration>>> {
    return reading(() => this.#registry.register(by, input))
  }

  /** Registers what a run made, or the plan that it carries out; asking again is harmless. */
  make(maker: Maker, envelope: KbEnvelope): Promise<Result<Body<KbRegistration>>> {
    return reading(() => this.#registry.make(maker, envelope))
  }

  async keep(envelope: KbEnvelope, curator: string): Promise<Result<void>> {
    const kept = await this.make({ by: 'system', user: curator }, envelope)
    return kept.ok ? { ok: true, value: undefined } : kept
  }

  /** ALX-KB-14. */
  read(kbHash: string, reader: Principal): Promise<Result<Body<KbRecord>>> {
    return reading(async () => {
      const block = this.#visible(reader, kbHash)
      if (!block.ok) return block
      const { kbId, curator, createdAt, status, attribution, queryFee } = block.value
      const envelope = await this.#envelopes.envelope(block.value)
      const record = { kbHash, kbId, envelope, curator, createdAt, status, attribution: [...attribution], queryFee }
      return { ok: true, value: record }
    })
  }

  /** ALX-KB-15. Needs no registry. */
  async verify({ envelope, expectedKbHash, artifactBase64 }: KbVerifyInput): Promise<Result<Body<KbVerification>>> {
    const artifact = artifactBase64 === undefined ? undefined : Buffer.from(artifactBase64, 'base64')
    try {
      const verified = verifyKBArtifact({ manifest: envelope, artifact, expectedKbHash })
      return { ok: true, value: verified }
    } catch (thrown) {
      if (!(thrown instanceof TypeError)) throw thrown
      const issue = 'has no canonical text'
      return refused('INVALID_ENVELOPE', `the envelope ${issue}`, { details: [{ path: 'envelope', issue }] })
    }
  }

  /** ALX-KB-16. */
  async lineage(kbHash: string, direction: Direction, reader: Principal): Promise<Result<Body<KbLineage>>> {
    if (!isHash(kbHash)) return invalidRequest('kbHash', 'must be 0x and 64 lower-case hexadecimal digits')
    return lineageOf(reader.id, kbHash, direction, this.#blocks)
  }

  /** ALX-SETTLE-07. `signer` is the address that signed the request, if one did: it is on record. */
  settle(
    input: SettlementInput,
    by: Principal,
    signer?: string,
  ): Promise<Result<{ readonly body: Settled; readonly isNew: boolean }>> {
    return reading(() => this.#settlements.settle(by, input, signer))
  }

  readSettlement(queryId: string, reader: Principal): Promise<Result<Settled>> {
    return reading(() => this.#settlements.read(reader.id, queryId))
  }

  /** Pending amounts of all recipients. */
  balances(): ReturnType<Ledger['balances']> {
    return this.#ledger.balances()
  }

  /** ALX-SOLVE-17. */
  feedback(input: FeedbackInput, by: Principal, { artifactId }: RatedRun): Promise<Result<Body<FeedbackRecord>>> {
    return reading(() => this.#feedback.record(by, input, artifactId))
  }

  /** ALX-SOLVE-08. Nothing here measures a gain over a baseline, so `improvement` is `null`. */
  learning(run: RunId): LearningInfo {
    const { feedbackId = null, recordedAt = null } = this.#ratings.latest(run) ?? {}
    return { eligible: true, feedbackId, recordedAt, improvement: null }
  }

  /** ALX-SETTLE-09; undefined for a block that the reader may not see. */
  reputation(reader: Principal, kbHash: string): Reputation | undefined {
    const block = this.#visible(reader, kbHash)
    return block.ok ? reputationOf(kbHash, { ledger: this.#ledger, ratings: this.#ratings }) : undefined
  }

  /** A registered block as an answer or an event shows it. */
  artifact(reader: Principal, kbHash: string, origin: SolveArtifact['origin']): Promise<Result<SolveArtifact>> {
    return reading(async () => {
      const block = this.#visible(reader, kbHash)
      if (!block.ok) return block
      return {
        ok: true,
        value: artifactOf(await this.#envelopes.envelope(block.value), kbHash, origin, block.value.kbId),
      }
    })
  }

  /** Whether a block may tell this user's agents what to do: made here, or trusted by the owner. */
  mayExecute(user: Principal, kbHash: string): boolean {
    const block = this.#blocks.get(kbHash)
    return block !== undefined && mayExecute(user.id, block)
  }

  /** Blocks that agents are told about, as data. */
  relatedBlocks(intent: SolveIntentShape, reader: Principal): Promise<readonly RelatedBlock[]> {
    return relatedBlocks(intent, reader.id, {
      blocks: this.#blocks,
      envelopes: this.#envelopes,
      index: this.#index,
      position: () => this.#fold.at,
    })
  }

  /** Deprecating and sharing is for a block's curator; slashing and trust for the owner of the profile. */
  act(by: Principal, kbHash: string, act: KbAct, reason?: string): Promise<Result<BlockEntry>> {
    return reading(async () => {
      const done = await this.#registry.act(by, kbHash, act, reason)
      return done.ok ? { ok: true, value: entryOf(done.value) } : done
    })
  }

  /** Blocks that the reader may see, in the order of their registration. */
  list(reader: Principal, query: BlockQuery = {}): Result<{ blocks: readonly BlockEntry[]; next?: string }> {
    const { type, domain, status, own, after, limit = kbLimits.pageSize } = query
    if (!Number.isInteger(limit) || limit < 1 || limit > kbLimits.pageSize)
      return invalidRequest('limit', `must be an integer from 1 to ${kbLimits.pageSize}`)
    const start = after === undefined ? undefined : this.#visible(reader, after)
    if (start && !start.ok) return start
    const fits = (block: Block) =>
      block.at > (start?.value.at ?? -1) &&
      mayRead(reader.id, block) &&
      (type === undefined || block.type === type) &&
      (domain === undefined || block.domain === domain) &&
      (status === undefined || block.status === status) &&
      (own !== true || block.curator === reader.id)
    const found: Block[] = []
    for (const block of this.#blocks.all()) {
      if (!fits(block)) continue
      if (found.length === limit) return { ok: true, value: { blocks: found.map(entryOf), next: found.at(-1)!.kbHash } }
      found.push(block)
    }
    return { ok: true, value: { blocks: found.map(entryOf) } }
  }

  /** Full text among the blocks that the reader may see, the best first, retired ones too. */
  search(reader: Principal, text: string, limit: number = selectLimits.hits): Promise<Result<readonly BlockEntry[]>> {
    return reading(async () => {
      const search = { words: queryWords(text), reader: reader.id, withRetired: true, limit }
      const hits = await this.#index.search(search, this.#fold.at)
      const found = hits.flatMap(({ kbHash }) => this.#blocks.get(kbHash) ?? [])
      return { ok: true, value: found.filter(block => mayRead(reader.id, block)).map(entryOf) }
    })
  }

  /** The block and all that it comes from, as a file for another Parley (exchange.ts). */
  export(reader: Principal, kbHash: string): Promise<Result<string>> {
    return reading(() => exportBlock(reader.id, kbHash, { blocks: this.#blocks, envelopes: this.#envelopes }))
  }

  /** Takes such a file in. Nothing is registered of a file that has a mistake; importing it again is harmless. */
  import(by: Principal, file: string): Promise<Result<readonly Body<KbRegistration>[]>> {
    return reading(async () => {
      const blocks = readExport(file)
      if (!blocks.ok) return blocks
      const registered: Body<KbRegistration>[] = []
      for (const { input, origin } of blocks.value) {
        const one = await this.#registry.register(by, input, origin)
        if (!one.ok) return one
        registered.push(one.value)
      }
      return { ok: true, value: registered }
    })
  }

  #visible(reader: Principal, kbHash: string): Result<Block> {
    if (!isHash(kbHash)) return invalidRequest('kbHash', 'must be 0x and 64 lower-case hexadecimal digits')
    const block = this.#blocks.get(kbHash)
    return block && mayRead(reader.id, block) ? { ok: true, value: block } : kbNotFound(kbHash)
  }
}

/** What cannot be read at the moment is a refusal; everything else that is thrown is a defect. */
async function reading<T>(work: () => Promise<Result<T>>): Promise<Result<T>> {
  try {
    return await work()
  } catch (thrown) {
    if (thrown instanceof IndexBroken || (thrown instanceof ParleyError && thrown.retryable)) return unavailable()
    throw thrown
  }
}

function entryOf(block: Block): BlockEntry {
  const { kbHash, kbId, type, domain, tier = null, curator, createdAt, status, shared, trusted, made, queryFee } = block
  return { kbHash, kbId, type, domain, tier, curator, createdAt, status, shared, trusted, made, queryFee }
}

function isHash(text: string): boolean {
  return /^0x[0-9a-f]{64}$/.test(text)
}
