// Tokens with which programs reach the HTTP surface. Each belongs to a user of the house directory and narrows what
// that user may do. Whatever happens to one is on record in the house, under the name of whoever did it, before the
// file is changed.
import type { Coordination } from '@parley/coordinator'
import {
  type Clock,
  err,
  formatTimestamp,
  ok,
  type ParleyError,
  type Principal,
  parseTimestamp,
  type Result,
  refuse,
  type Ticks,
  ticksPerMillisecond,
} from '@parley/core'
import type { NodeLog } from '../../log/log.ts'
import { httpLimits, httpTimes } from '../limits.ts'
import { DEFAULT_SCOPES, type TokenScope } from '../scopes.ts'
import { hashOf, idIn, matches, newSecret, newTokenId } from './secret.ts'
import { readTokens, type StoredToken, writeTokens } from './token-file.ts'

export interface TokensOptions {
  readonly file: string
  readonly clock: Clock
  readonly users: Pick<Coordination['users'], 'admit' | 'stateOf'>
  readonly house: Pick<Coordination['house'], 'write'>
  /** Under whose name the use of tokens is on record. */
  readonly owner: Principal
  readonly log: Pick<NodeLog, 'warn' | 'error'>
}

export interface NewToken {
  readonly user: string
  readonly name?: string | undefined
  readonly scopes?: readonly TokenScope[] | undefined
  /** Milliseconds. */
  readonly lifeMs?: number | undefined
}

/** `closed`: its user is suspended, blocked or deactivated. */
export type TokenState = 'active' | 'expired' | 'revoked' | 'closed'

export interface TokenView extends Omit<StoredToken, 'hash'> {
  readonly state: TokenState
}

/** Ids of those who are nobody's users: peers, transports, slots of agents. */
const USER = /^(?!alp:|ct:|agent:)[\x21\x22\x24-\x7e]{1,64}$/
const SYSTEM = ['system', 'nobody', 'runtime']
const HOUR = 13
const DAY = 10

export class Tokens {
  readonly #options: TokensOptions
  #tokens: Map<string, StoredToken> | undefined
  #problem: ParleyError | undefined
  /** Changes, one after the other. */
  #last: Promise<unknown> = Promise.resolve()

  constructor(options: TokensOptions) {
    this.#options = options
  }

  /** The newest first. */
  list(): Result<readonly TokenView[]> {
    const all = this.#all()
    if (!all.ok) return all
    return ok([...all.value.values()].toReversed().map(token => this.#view(token)))
  }

  /**
   * `secret` is told this once. Somebody who is not known yet is admitted first, with the least rights. Refusals:
   * `invalid_argument`, `permission_denied`, `limit_reached`, `tokens_unreadable`, `profile_unusable`, and those of the
   * record.
   */
  create(given: NewToken, by: Principal): Promise<Result<{ readonly token: TokenView; readonly secret: string }>> {
    return this.#next(() => this.#create(given, by))
  }

  async #create(
    { user, name, scopes = DEFAULT_SCOPES, lifeMs = httpTimes.tokenLife }: NewToken,
    by: Principal,
  ): Promise<Result<{ readonly token: TokenView; readonly secret: string }>> {
    const { clock, users, house } = this.#options
    const all = this.#all()
    if (!all.ok) return all
    if (!USER.test(user) || SYSTEM.includes(user))
      return refuse('invalid_argument', `${JSON.stringify(user)} cannot be the name of a user of tokens.`)
    if (lifeMs < httpTimes.tokenLifeLeast || lifeMs > httpTimes.tokenLifeMost)
      return refuse('invalid_argument', 'A token lives at least a minute and at most 366 days.')
    const { size } = this.#kept(all.value)
    if (size >= httpLimits.tokens)
      return refuse('limit_reached', `There are ${size} tokens already. Revoke those that are not needed.`)
    const admitted = await users.admit({ id: user, kind: 'user', scopes: [] }, 'token')
    if (!admitted.ok) return admitted
    const id = newTokenId()
    const secret = newSecret(id)
    const now = clock.now()
    const token: StoredToken = {
      id,
      user,
      ...(name !== undefined && { name }),
      scopes: [...new Set(scopes)],
      hash: hashOf(secret),
      created: formatTimestamp(now),
      expires: formatTimestamp((now + lifeMs * ticksPerMillisecond) as Ticks),
    }
    const said = { user, scopes: token.scopes, expires: token.expires, ...(name !== undefined && { name }) }
    const recorded = await house.write(by.id, { parley: 'token', act: 'created', token: id, ...said })
    if (!recorded.ok) return recorded
    const written = this.#store(this.#kept(all.value).set(id, token))
    return written.ok ? ok({ token: this.#view(token), secret }) : written
  }

  /** Refusals: `unknown_token`, `invalid_state` where it is revoked already, and as for `create`. */
  revoke(id: string, by: Principal): Promise<Result<TokenView>> {
    return this.#next(async () => {
      const all = this.#all()
      if (!all.ok) return all
      const token = all.value.get(id)
      if (!token) return refuse('unknown_token', `There is no token ${id}.`)
      if (token.revoked !== undefined) return refuse('invalid_state', `The token ${id} is revoked already.`)
      const { hash: _gone, ...rest } = token
      const revoked = { ...rest, revoked: formatTimestamp(this.#options.clock.now()) }
      // It is of no use from now on, whatever becomes of the record.
      all.value.set(id, revoked)
      const said = { parley: 'token', act: 'revoked', token: id, user: token.user } as const
      const recorded = await this.#options.house.write(by.id, said)
      const written = this.#store(this.#kept(all.value))
      if (!recorded.ok) return recorded
      return written.ok ? ok(this.#view(revoked)) : written
    })
  }

  /**
   * Whose token this is, narrowed to its scopes. Undefined for one that is unknown, malformed, expired, revoked or of a
   * user who is not active, and all of these take the same steps.
   */
  principalOf(secret: string): Principal | undefined {
    const all = this.#all()
    const id = idIn(secret)
    const token = all.ok && id !== undefined ? all.value.get(id) : undefined
    const genuine = matches(secret, token?.hash)
    if (!token || !genuine || this.#state(token) !== 'active') return undefined
    this.#noteUse(token)
    return { id: token.user, kind: 'user', ...(token.name !== undefined && { name: token.name }), scopes: token.scopes }
  }

  /** To the hour in the file, and on record once a day. */
  #noteUse(token: StoredToken): void {
    const now = formatTimestamp(this.#options.clock.now())
    const hour = `${now.slice(0, HOUR)}:00:00.000000Z` as StoredToken['created']
    if (token.used === hour) return
    const isNewDay = token.used?.slice(0, DAY) !== hour.slice(0, DAY)
    const used = { ...token, used: hour }
    this.#tokens!.set(token.id, used)
    void this.#next(async () => {
      const { house, owner, log } = this.#options
      const said = { parley: 'token', act: 'used', token: token.id, user: token.user } as const
      const recorded = isNewDay ? await house.write(owner.id, said) : ok(undefined)
      if (!recorded.ok) log.warn(`the use of a token is not on record: ${recorded.error.message}`, { id: token.id })
      const written = this.#store(this.#tokens!)
      if (!written.ok) log.warn(written.error.message)
      return ok(undefined)
    }).catch(cause => this.#options.log.error('the use of a token was not noted', { cause }))
  }

  #state({ expires, revoked, user }: StoredToken): TokenState {
    if (revoked !== undefined) return 'revoked'
    if ((parseTimestamp(expires) ?? 0) <= this.#options.clock.now()) return 'expired'
    return this.#options.users.stateOf(user) === 'active' ? 'active' : 'closed'
  }

  #view(token: StoredToken): TokenView {
    const { hash: _secret, ...rest } = token
    return { ...rest, state: this.#state(token) }
  }

  /** Without those that ended long ago. */
  #kept(tokens: ReadonlyMap<string, StoredToken>): Map<string, StoredToken> {
    const since = this.#options.clock.now() - httpTimes.tokenAfterlife * ticksPerMillisecond
    const isRecent = ({ revoked, expires }: StoredToken) => (parseTimestamp(revoked ?? expires) ?? 0) > since
    return new Map([...tokens].filter(([, token]) => isRecent(token)))
  }

  #all(): Result<Map<string, StoredToken>> {
    if (this.#problem) return err(this.#problem)
    if (this.#tokens) return ok(this.#tokens)
    const read = readTokens(this.#options.file)
    if (!read.ok) {
      this.#problem = read.error
      this.#options.log.error(read.error.message, { code: read.error.code })
      return read
    }
    this.#tokens = new Map(read.value.map(token => [token.id, token]))
    return ok(this.#tokens)
  }

  /** What was not written does not hold. */
  #store(tokens: Map<string, StoredToken>): Result<void> {
    const written = writeTokens(this.#options.file, [...tokens.values()])
    if (written.ok) this.#tokens = tokens
    return written
  }

  #next<T>(change: () => Promise<T>): Promise<T> {
    const done = this.#last.then(change)
    this.#last = done.catch(() => undefined)
    return done
  }
}
