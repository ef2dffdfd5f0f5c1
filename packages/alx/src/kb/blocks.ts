// The registry's state: what is known of each block, as a fold of the library. Envelopes are not in it; they are read
// from the library when they are asked for (envelopes.ts).
import type { AttributionLink, KbEnvelope, KbRecord } from '@alx/protocol'
import type { LibraryRecord } from '@parley/core'
import { intentKeyOf } from './intent-key.ts'
import type { Fold } from './library-fold.ts'
import { kbLimits } from './limits.ts'
import {
  type BlockBody,
  blockBodyOf,
  curatorOf,
  envelopeOf,
  holderOf,
  isoOf,
  linksOf,
  type StatusBody,
  statusBodyOf,
} from './records.ts'

export interface Block {
  readonly kbHash: string
  /** Its position in the library. */
  readonly at: number
  readonly kbId: string | null
  readonly type: string
  readonly domain: string
  readonly tier: KbEnvelope['tier']
  readonly sources: readonly string[]
  readonly curator: string
  readonly createdAt: string
  readonly attribution: readonly AttributionLink[]
  readonly queryFee: string
  readonly status: KbRecord['status']
  /** Of a restricted block: everybody may read it by now. */
  readonly shared: boolean
  /** The owner lets it be executed. */
  readonly trusted: boolean
  /** Made here, by a run or of a team's plan. */
  readonly made: boolean
  /** Who may read it beside its curator, for it was made for them too. */
  readonly holders: ReadonlySet<string>
  readonly origin?: BlockBody['origin']
}

export class Blocks implements Fold {
  readonly #blocks = new Map<string, Block>()
  /** Registered blocks that name a block as source, whether that one is registered or not. */
  readonly #children = new Map<string, string[]>()
  /** Blocks that answer the same intent, newest last. */
  readonly #sameIntent = new Map<string, string[]>()
  readonly #trusted = new Set<string>()
  readonly #onUnreadable: (record: LibraryRecord) => void

  constructor(onUnreadable: (record: LibraryRecord) => void = () => {}) {
    this.#onUnreadable = onUnreadable
  }

  apply(record: LibraryRecord): void {
    if (record.type === 'knowledge_block') {
      const body = blockBodyOf(record)
      const envelope = body && envelopeOf(body)
      if (envelope) this.#register(record, body, envelope)
      else this.#onUnreadable(record)
    } else if (record.type === 'kb.status') {
      const body = statusBodyOf(record)
      if (body) this.#act(record, body)
      else this.#onUnreadable(record)
    }
  }

  get(kbHash: string): Block | undefined {
    return this.#blocks.get(kbHash)
  }

  get count(): number {
    return this.#blocks.size
  }

  /** In the order of their registration. */
  all(): Iterable<Block> {
    return this.#blocks.values()
  }

  childrenOf(kbHash: string): readonly string[] {
    return this.#children.get(kbHash) ?? []
  }

  /** Newest first. */
  withIntent(key: string): readonly Block[] {
    return (this.#sameIntent.get(key) ?? []).map(kbHash => this.#blocks.get(kbHash)!).reverse()
  }

  /** Newest trust first. */
  trusted(): readonly string[] {
    return [...this.#trusted].reverse()
  }

  /** The first record of a block counts; a second one can only come from a race between processes (ALX-KB-13). */
  #register(record: LibraryRecord, body: BlockBody, envelope: KbEnvelope): void {
    const { kbHash } = body
    if (this.#blocks.has(kbHash)) return
    const { type, domain, tier, sources } = envelope
    this.#blocks.set(kbHash, {
      kbHash,
      at: record.at,
      kbId: body.kbId ?? null,
      type,
      domain,
      tier,
      sources,
      curator: curatorOf(record, body),
      createdAt: isoOf(record),
      attribution: linksOf(body),
      queryFee: body.queryFee,
      status: 'active',
      shared: false,
      trusted: false,
      made: body.made === true,
      holders: NOBODY,
      ...(body.origin && { origin: body.origin }),
    })
    for (const source of sources) add(this.#children, source, kbHash, Number.POSITIVE_INFINITY)
    const key = intentKeyOf(envelope)
    if (key !== undefined) add(this.#sameIntent, key, kbHash, kbLimits.sameIntent)
  }

  #act(record: LibraryRecord, body: StatusBody): void {
    const { kbHash, act } = body
    const block = this.#blocks.get(kbHash)
    if (!block) return
    this.#blocks.set(kbHash, { ...block, ...changeOf(block, act, holderOf(record, body)) })
    if (act === 'trust') this.#trusted.add(kbHash)
    if (act === 'distrust') this.#trusted.delete(kbHash)
  }
}

function changeOf(block: Block, act: StatusBody['act'], holder: string): Partial<Block> {
  switch (act) {
    case 'deprecate':
      return block.status === 'active' ? { status: 'deprecated' } : {}
    case 'slash':
      return { status: 'slashed' }
    case 'share':
      return { shared: true }
    case 'trust':
      return { trusted: true }
    case 'distrust':
      return { trusted: false }
    case 'hold':
      return { made: true, holders: new Set([...block.holders, holder]) }
  }
}

const NOBODY: ReadonlySet<string> = new Set()

function add(map: Map<string, string[]>, key: string, value: string, limit: number): void {
  const values = map.get(key)
  if (!values) map.set(key, [value])
  else if (values.push(value) > limit) values.shift()
}

/** Who may see a block: all but restricted ones, everybody (ALX-KB-01, `tier`). */
export function mayRead(user: string, { tier, shared, curator, holders }: Block): boolean {
  return tier !== 'restricted' || shared || curator === user || holders.has(user)
}

/** Whether a block may tell agents what to do, and not only be told to them. */
export function mayExecute(user: string, block: Block): boolean {
  return block.status === 'active' && (block.made || block.trusted) && mayRead(user, block)
}
