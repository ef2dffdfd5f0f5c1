// Which blocks answer an intent (ALX-HTTP-08). In a domain with a team: the procedures that the owner trusts and that
// fit the team, and behind them the team's own plan, with which a run is always possible. In another domain: blocks
// that the reader may read, whose content is the answer.
import {
  type HashFn,
  type KbEnvelope,
  kbHashFromEnvelope,
  type SolveArtifact,
  type SolveIntentShape,
} from '@alx/protocol'
import type { Clock } from '@parley/core'
import { ticksPerMillisecond } from '@parley/core'
import { type Block, type Blocks, mayExecute, mayRead } from '../kb/blocks.ts'
import type { Envelopes } from '../kb/envelopes.ts'
import { intentKey } from '../kb/intent-key.ts'
import { fitProcedure, parseProcedure, procedureEnvelope, type TeamOutline } from '../kb/procedure.ts'
import type { ArtifactCandidate, ArtifactSelector, SelectionRequest } from '../ports.ts'
import type { Ledger } from '../settle/ledger.ts'
import type { Ratings } from '../settle/ratings.ts'
import { reputationOf } from '../settle/reputation.ts'
import type { BlockIndex } from './block-index.ts'
import { confidenceOf } from './confidence.ts'
import { domainNearness } from './domains.ts'
import type { Hit, Search } from './index-protocol.ts'
import { IndexBroken } from './index-thread.ts'
import { selectLimits } from './limits.ts'
import { queryWords } from './words.ts'

export interface SelectorOptions {
  readonly blocks: Blocks
  readonly envelopes: Envelopes
  readonly ledger: Ledger
  readonly ratings: Ratings
  readonly index: Pick<BlockIndex, 'search'>
  /** The position of the library up to which `blocks` knows it. */
  readonly position: () => number
  readonly clock: Clock
  /** Below it, a trusted procedure does not come before the team's own plan. */
  readonly minConfidence: number
  /** The team that a domain has; undefined where its blocks are the answers. */
  readonly teamOf?: ((domain: string) => TeamOutline | undefined) | undefined
  readonly hash?: HashFn | undefined
  /** Only exact matches were found, since the index could not be asked. */
  readonly onDegraded?: ((error: Error) => void) | undefined
}

export class KnowledgeSelector implements ArtifactSelector {
  readonly #options: SelectorOptions

  constructor(options: SelectorOptions) {
    this.#options = options
  }

  async select({ intent, reader }: SelectionRequest): Promise<readonly ArtifactCandidate[]> {
    const team = this.#options.teamOf?.(intent.domain)
    return team ? this.#procedures(intent, reader.id, team) : this.#answers(intent, reader.id)
  }

  async #answers(intent: SolveIntentShape, reader: string): Promise<readonly ArtifactCandidate[]> {
    const usable = (block: Block) => block.status === 'active' && mayRead(reader, block)
    const ranked = await this.#ranked(intent, { reader }, usable)
    return Promise.all(ranked.slice(0, selectLimits.candidates).map(candidate => this.#candidate(candidate)))
  }

  async #procedures(
    intent: SolveIntentShape,
    reader: string,
    team: TeamOutline,
  ): Promise<readonly ArtifactCandidate[]> {
    const { blocks, minConfidence, hash } = this.#options
    const own = ownPlan(intent, team, hash)
    const trusted = blocks.trusted().slice(0, selectLimits.trusted)
    if (trusted.length === 0) return [own]
    const usable = (block: Block) =>
      block.type === 'procedure' && block.trusted && block.kbHash !== own.artifact.kbHash && mayExecute(reader, block)
    const ranked = await this.#ranked(intent, { reader, among: trusted }, usable)
    const fitting: ArtifactCandidate[] = []
    for (const candidate of ranked) {
      if (candidate.confidence < minConfidence || fitting.length === selectLimits.candidates - 1) break
      const found = await this.#candidate(candidate)
      const procedure = parseProcedure(found.artifact.payload)
      if (procedure.ok && fitProcedure(procedure.value, team).ok) fitting.push(found)
    }
    return [...fitting, own]
  }

  /** Exact matches and found ones with what speaks for them, the best first. */
  async #ranked(
    intent: SolveIntentShape,
    { reader, among }: Pick<Search, 'reader'> & { readonly among?: readonly string[] },
    usable: (block: Block) => boolean,
  ): Promise<readonly Ranked[]> {
    const { blocks, ledger, ratings, clock } = this.#options
    const exact = new Set(blocks.withIntent(intentKey(intent)).map(({ kbHash }) => kbHash))
    const words = queryWords(`${intent.verb} ${intent.target}`)
    const search = { words, reader, domain: intent.domain, limit: selectLimits.hits, ...(among && { among }) }
    const found = new Map((await this.#search(search)).map(({ kbHash, coverage }) => [kbHash, coverage]))
    const nowMs = clock.now() / ticksPerMillisecond
    return [...new Set([...exact, ...found.keys()])]
      .flatMap(kbHash => blocks.get(kbHash) ?? [])
      .filter(usable)
      .map(block => {
        const { kbHash, createdAt } = block
        const fit = confidenceOf({
          isExact: exact.has(kbHash),
          coverage: found.get(kbHash) ?? 0,
          domain: domainNearness(intent.domain, block.domain),
          votes: ratings.votesFor(kbHash),
          reputation: reputationOf(kbHash, { ledger, ratings }).score,
          createdAt,
          nowMs,
        })
        return { block, ...fit }
      })
      .sort((a, b) => b.confidence - a.confidence || b.block.at - a.block.at)
  }

  async #search(search: Search): Promise<readonly Hit[]> {
    try {
      return await this.#options.index.search(search, this.#options.position())
    } catch (thrown) {
      if (!(thrown instanceof IndexBroken)) throw thrown
      this.#options.onDegraded?.(thrown)
      return []
    }
  }

  async #candidate({ block, confidence, parts }: Ranked): Promise<ArtifactCandidate> {
    const envelope = await this.#options.envelopes.envelope(block)
    return { artifact: artifactOf(envelope, block.kbHash, 'selected', block.kbId), confidence, parts }
  }
}

interface Ranked extends Pick<ArtifactCandidate, 'confidence' | 'parts'> {
  readonly block: Block
}

/** Not registered here: a dry run has no side effects. The run registers what it executes. */
function ownPlan(intent: SolveIntentShape, team: TeamOutline, hash: HashFn | undefined): ArtifactCandidate {
  const envelope = procedureEnvelope(intent, team)
  const artifact = artifactOf(envelope, kbHashFromEnvelope(envelope, hash), 'generated', null)
  return { artifact, confidence: 1, parts: { generated: 1 } }
}

export function artifactOf(
  envelope: KbEnvelope,
  kbHash: string,
  origin: SolveArtifact['origin'],
  kbId: string | null,
): SolveArtifact {
  const { type, domain, tier = null, sources, payload } = envelope
  return {
    artifactId: kbHash,
    kbHash,
    kbId,
    type,
    domain,
    tier,
    sources: [...new Set(sources)].sort(),
    origin,
    payload,
  }
}
