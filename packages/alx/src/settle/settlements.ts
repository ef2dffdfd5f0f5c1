// Settling queries (ALX-SETTLE-07). A settlement is one record with its whole result; everything else is a fold.
import { limits as protocolLimits, type Result, type SettlementInput, type SettlementRecord } from '@alx/protocol'
import { computeSettlement, ledgerLeafHash } from '@alx/protocol/economics'
import { invariant, type Library, type LibraryRecord, type Principal } from '@parley/core'
import { type Block, type Blocks, mayRead } from '../kb/blocks.ts'
import { KeyedQueue } from '../kb/keyed-queue.ts'
import type { LibraryFold } from '../kb/library-fold.ts'
import { isoOf } from '../kb/records.ts'
import { kbNotFound, refused, unavailable } from '../kb/refusals.ts'
import type { Body } from '../ports.ts'
import { type Ledger, settlementKey } from './ledger.ts'
import { settleLimits } from './limits.ts'
import { type SettlementBody, settlementBodyOf } from './records.ts'

export interface SettlementsOptions {
  readonly library: Library
  readonly fold: LibraryFold
  readonly blocks: Blocks
  readonly ledger: Ledger
  readonly protocolFeeBps?: number | undefined
  readonly isPaused?: (() => boolean) | undefined
}

export type Settled = Body<SettlementRecord>

export class Settlements {
  readonly #options: SettlementsOptions
  /** Two settlements of one query at once make one record. */
  readonly #queue = new KeyedQueue(settleLimits.waitingForOne)

  constructor(options: SettlementsOptions) {
    this.#options = options
  }

  /** `isNew` is the difference between 201 and 200. `signer` is the address that signed the request, if one did. */
  settle(
    by: Principal,
    input: SettlementInput,
    signer?: string,
  ): Promise<Result<{ readonly body: Settled; readonly isNew: boolean }>> {
    const settling = this.#queue.run(settlementKey(by.id, input.queryId), () => this.#settle(by, input, signer))
    return settling ?? Promise.resolve(unavailable())
  }

  /** Another user's settlement is not found. Throws what reading the library throws. */
  async read(user: string, queryId: string): Promise<Result<Settled>> {
    const at = this.#options.ledger.positionOf(user, queryId)
    if (at === undefined) return refused('SETTLEMENT_NOT_FOUND', `no settlement of the query ${queryId} is known`)
    return { ok: true, value: await this.#at(at) }
  }

  /** What was settled is answered first, whatever has become of its block since (ALX-SETTLE-07). */
  async #settle(by: Principal, { queryId, kbHash, amount }: SettlementInput, signer: string | undefined) {
    const { fold, ledger } = this.#options
    const known = ledger.positionOf(by.id, queryId)
    if (known !== undefined) return this.#replay(known, { queryId, kbHash, amount })
    const payable = this.#payable(by, kbHash, amount)
    if (!payable.ok) return payable
    const body = { ...this.#compute(payable.value, queryId, amount), ...(signer !== undefined && { signer }) }
    const appended = await fold.append({ type: 'settlement', by, body })
    if (!appended.ok) return appended
    const counted = ledger.positionOf(by.id, queryId)
    // Where another process was first, its record is the settlement.
    if (counted !== appended.value.at) return this.#replay(counted!, { queryId, kbHash, amount })
    return { ok: true as const, value: { body: settledOf(appended.value), isNew: true } }
  }

  async #replay(at: number, asked: Pick<SettlementInput, 'queryId' | 'kbHash' | 'amount'>) {
    const settlement = await this.#at(at)
    if (settlement.kbHash !== asked.kbHash || settlement.amount !== asked.amount)
      return refused('IDEMPOTENCY_CONFLICT', `the query ${asked.queryId} was settled with another block or amount`)
    return { ok: true as const, value: { body: settlement, isNew: false } }
  }

  #payable(by: Principal, kbHash: string, amount: string): Result<Block> {
    const { blocks, isPaused } = this.#options
    if (isPaused?.()) return refused('PROTOCOL_PAUSED', 'settlements are paused')
    const block = blocks.get(kbHash)
    if (!block || !mayRead(by.id, block)) return kbNotFound(kbHash)
    if (block.status === 'slashed') return refused('KB_IS_SLASHED', `${kbHash} is slashed and earns nothing`)
    if (amount !== block.queryFee)
      return refused('INCORRECT_FEE', `a query of ${kbHash} costs ${block.queryFee}, not ${amount}`)
    return { ok: true, value: block }
  }

  #compute({ kbHash, curator, attribution }: Block, queryId: string, amount: string): SettlementBody {
    const { blocks, protocolFeeBps = protocolLimits.defaultFeeBps } = this.#options
    const links = attribution.map(({ parentHash, royaltyShareBps }) => {
      const parent = blocks.get(parentHash)
      invariant(parent, 'a link leads to a registered block')
      return { parentHash, royaltyShareBps, parentCurator: parent.curator, eligible: parent.status !== 'slashed' }
    })
    const result = computeSettlement({ amount, protocolFeeBps, kbHash, curator, links })
    const ledger = result.payouts.map(payout => ({ ...payout, leafHash: ledgerLeafHash(kbHash, payout.amount) }))
    return { queryId, kbHash, amount, protocolFeeBps, ...result, ledger }
  }

  async #at(at: number): Promise<Settled> {
    for await (const record of this.#options.library.read({ after: at - 1 })) return settledOf(record)
    invariant(false, 'a record of the library stays')
  }
}

function settledOf(record: LibraryRecord): Settled {
  const body = settlementBodyOf(record)
  invariant(body, 'a settlement is where its record was')
  const { signer: _, ...settlement } = body
  return { ...settlement, settledAt: isoOf(record) }
}
