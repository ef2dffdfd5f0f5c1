// Registration of Knowledge Blocks (ALX-KB-12), and what may be said of them afterwards: `kb.status`.
import {
  type CheckedEnvelope,
  canonicalize,
  checkAttribution,
  checkKbEnvelope,
  cidV1FromCanonicalSync,
  type HashFn,
  type KbEnvelope,
  type KbRecord,
  type KbRegisterInput,
  type KbRegistration,
  type Result,
} from '@alx/protocol'
import type { Principal } from '@parley/core'
import type { Body } from '../ports.ts'
import { type Block, type Blocks, mayRead } from './blocks.ts'
import { KeyedQueue } from './keyed-queue.ts'
import type { LibraryFold } from './library-fold.ts'
import { kbLimits } from './limits.ts'
import { wouldCycle } from './lineage.ts'
import { type BlockBody, keptEnvelope, type StatusAct, type StatusBody } from './records.ts'
import { invalidRequest, kbNotFound, refused, unavailable } from './refusals.ts'

export interface KbRegistryOptions {
  readonly fold: LibraryFold
  readonly blocks: Blocks
  /** Keccak-256 but in tests of what honest hashes cannot reach. */
  readonly hash?: HashFn | undefined
}

/** Whose block it is that a run made; `system` registers it where a crash cut the run's end off. */
export interface Maker {
  readonly by: Principal | 'system'
  readonly user: string
}

/** What a user, or the owner of the profile, may say of a block. */
export type KbAct = Exclude<StatusAct, 'hold'>

type Registration = Result<Body<KbRegistration>>
type How = Pick<BlockBody, 'made' | 'origin'>

export class KbRegistry {
  readonly #fold: LibraryFold
  readonly #blocks: Blocks
  readonly #hash: HashFn | undefined
  /** Two registrations of one block at once make one record. */
  readonly #queue = new KeyedQueue(kbLimits.waitingForOne)

  constructor({ fold, blocks, hash }: KbRegistryOptions) {
    this.#fold = fold
    this.#blocks = blocks
    this.#hash = hash
  }

  register(by: Principal, input: KbRegisterInput, origin?: BlockBody['origin']): Promise<Registration> {
    return this.#register({ by, user: by.id }, input, origin ? { origin } : {})
  }

  /**
   * Registers what was made here: a team's plan, a run's result. It may be executed. If the block exists already,
   * whoever registered it, its maker may read and execute it from now on: who guesses a plan gets no hold on it.
   */
  async make(maker: Maker, envelope: KbEnvelope): Promise<Registration> {
    const registered = await this.#register(maker, { envelope }, { made: true })
    if (!registered.ok || registered.value.isNew) return registered
    const { kbHash } = registered.value
    const held = await this.#exclusive(kbHash, async () => {
      const block = this.#blocks.get(kbHash)!
      if (block.made && (block.curator === maker.user || block.holders.has(maker.user)))
        return { ok: true as const, value: block }
      return this.#append(maker.by, { kbHash, act: 'hold', ...(maker.by === 'system' && { holder: maker.user }) })
    })
    return held.ok ? registered : held
  }

  /** The checks in the order of the table; the first failure wins. */
  async #register(maker: Maker, input: KbRegisterInput, how: How): Promise<Registration> {
    const checked = checkKbEnvelope(input.envelope, this.#hash)
    if (!checked.ok) return checked
    return this.#exclusive(checked.value.kbHash, async () => {
      const known = this.#blocks.get(checked.value.kbHash)
      if (known) return answer(checked.value, mayRead(maker.user, known) ? known.kbId : null, false)
      return this.#registerNew(maker, checked.value, input, how)
    })
  }

  async #registerNew(
    { by, user }: Maker,
    checked: CheckedEnvelope,
    { kbId, attribution = [], queryFee = '0' }: KbRegisterInput,
    how: How,
  ): Promise<Registration> {
    const { kbHash, envelope } = checked
    const { sources } = envelope
    if (sources.includes(kbHash)) return refused('SELF_REFERENCE', `${kbHash} names itself as a source`)
    const unknown = sources.findIndex(source => !this.#readable(user, source))
    if (unknown >= 0)
      return refused('UNREGISTERED_SOURCE', `the source ${sources[unknown]} is not registered`, {
        suggestion: 'Register the sources of a block before the block.',
        details: [{ path: `envelope.sources[${unknown}]`, issue: 'must be registered' }],
      })
    if (wouldCycle(kbHash, sources, this.#blocks))
      return refused('CYCLE_DETECTED', `with ${kbHash} the lineage would run in a circle`)
    const links = checkAttribution(attribution, { kbHash, sources })
    if (!links.ok) return links
    const body: BlockBody = {
      kbHash,
      ...keptEnvelope(envelope),
      attribution: [...links.value],
      queryFee,
      ...(kbId !== undefined && { kbId }),
      ...how,
      ...(by === 'system' && { curator: user }),
    }
    const appended = await this.#fold.append({ type: 'knowledge_block', by, body })
    if (!appended.ok) return appended
    const block = this.#blocks.get(kbHash)!
    // Where another process was first, its record is the registration.
    return answer(checked, block.kbId, block.at === appended.value.at)
  }

  /** ALX-KB-13: metadata of the record, never a change of the block. What holds already is not recorded again. */
  async act(by: Principal, kbHash: string, act: KbAct, reason?: string): Promise<Result<Block>> {
    if (reason !== undefined && reason.length > kbLimits.reasonLength)
      return invalidRequest('reason', `must not be longer than ${kbLimits.reasonLength} characters`)
    return this.#exclusive(kbHash, async () => {
      const block = this.#readable(by.id, kbHash)
      if (!block) return kbNotFound(kbHash)
      const allowed = OWNERS_ACTS.includes(act) ? by.scopes.includes('owner') : block.curator === by.id
      if (!allowed) return refused('UNAUTHORIZED', `only ${whoMay(act)} may ${act} a block`)
      if (holdsAlready(block, act)) return { ok: true, value: block }
      return this.#append(by, { kbHash, act, ...(reason !== undefined && { reason }) })
    })
  }

  async #append(by: Principal | 'system', body: StatusBody): Promise<Result<Block>> {
    const appended = await this.#fold.append({ type: 'kb.status', by, body })
    return appended.ok ? { ok: true, value: this.#blocks.get(body.kbHash)! } : appended
  }

  #readable(user: string, kbHash: string): Block | undefined {
    const block = this.#blocks.get(kbHash)
    return block && mayRead(user, block) ? block : undefined
  }

  #exclusive<T>(kbHash: string, work: () => Promise<Result<T>>): Promise<Result<T>> {
    return this.#queue.run(kbHash, work) ?? Promise.resolve(unavailable())
  }
}

const OWNERS_ACTS: readonly KbAct[] = ['slash', 'trust', 'distrust']

function whoMay(act: KbAct): string {
  return OWNERS_ACTS.includes(act) ? 'the owner of this Parley' : 'its curator'
}

function holdsAlready({ status, shared, trusted }: Block, act: KbAct): boolean {
  const done: Readonly<Record<KbAct, boolean>> = {
    deprecate: status !== ('active' satisfies KbRecord['status']),
    slash: status === 'slashed',
    share: shared,
    trust: trusted,
    distrust: !trusted,
  }
  return done[act]
}

function answer({ kbHash, envelope, warnings }: CheckedEnvelope, kbId: string | null, isNew: boolean): Registration {
  const cidV1 = cidV1FromCanonicalSync(canonicalize(envelope))
  return { ok: true, value: { kbHash, kbId, cidV1, isNew, ...(warnings.length > 0 && { warnings: [...warnings] }) } }
}
