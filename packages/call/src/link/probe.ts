// Finds out a peer's spelling (CALL-EVT-02): a harmless request, sent twice, in every spelling at the same time.
import { callDefaults } from '../limits.ts'
import { type Profile, type ProfileName, profileOf } from '../profile/profile.ts'
import type { StreamId, Transport } from '../transport/transport.ts'
import type { PendingMap, PendingRequest } from './pending.ts'

const LIST = '/services/list'

/** The spelling of own requests: a given one, or the peer's as soon as that is known. */
export class Spelling {
  readonly #pending: PendingMap
  readonly #transport: Transport
  #profile: Profile
  #known: boolean
  /** What own requests wait for meanwhile. */
  #probing: Promise<void> | undefined

  constructor(given: ProfileName | 'auto', pending: PendingMap, transport: Transport) {
    this.#pending = pending
    this.#transport = transport
    this.#profile = profileOf(given === 'auto' ? 'seed' : given)
    this.#known = given !== 'auto'
  }

  get profile(): Profile {
    return this.#profile
  }

  get known(): boolean {
    return this.#known
  }

  /** What the peer shows first holds. */
  learn(profile: Profile): void {
    if (this.#known) return
    this.#known = true
    this.#profile = profile
  }

  /** Asks, once; resolves when the peer has answered or time is up. */
  findOut(): Promise<void> {
    this.#probing ??= new Promise(resolve => {
      const learn = (profile: Profile | undefined) => {
        for (const { id } of probes) this.#pending.delete(id)
        this.learn(profile ?? profileOf('seed'))
        resolve()
      }
      const expires = this.#pending.now() + callDefaults.probe
      const probes = ASKED.map(name => probeRequest(name, this.#transport.openStream?.(), expires, learn))
      for (const probe of probes) {
        this.#pending.add(probe)
        this.#transport.send(probeText(probe), probe.stream)
      }
    })
    return this.#probing
  }
}

/** SEED and CORE read the request id from the envelope, OPS wants none there. The first reply decides. */
const ASKED = ['seed', 'ops'] as const

/** `learn` is told the profile, or nothing where the answer shows none: an answer it is all the same. */
function probeRequest(
  name: ProfileName,
  stream: StreamId | undefined,
  expires: number,
  learn: (profile: Profile | undefined) => void,
): PendingRequest {
  return {
    id: crypto.randomUUID(),
    path: LIST,
    profile: probeProfile(name, learn),
    parentRequestId: undefined,
    stream,
    once: true,
    expires,
    value: () => learn(undefined),
    end: () => learn(undefined),
    fail: () => learn(undefined),
  }
}

function probeText({ id, path, profile }: PendingRequest): string {
  const payload = { name: path, operationId: path, requestId: id, input: {} }
  return JSON.stringify({ type: 'call.requested', id: profile.envelopeId(id), payload })
}

/** Not a spelling of its own: looks at the answer to the probe and tells which spelling it is in. */
function probeProfile(name: ProfileName, learn: (profile: Profile) => void): Profile {
  return {
    ...profileOf(name),
    value(payload) {
      const profile = spelling(payload)
      if (profile) learn(profileOf(profile))
      return payload
    },
  }
}

function spelling(payload: unknown): ProfileName | undefined {
  if (typeof payload !== 'object' || payload === null) return undefined
  const { operations, output, requestId } = payload as {
    operations?: unknown
    output?: { operations?: unknown } | null
    requestId?: unknown
  }
  if (Array.isArray(operations)) return 'seed'
  if (Array.isArray(output?.operations)) return 'core'
  return requestId === undefined ? undefined : 'ops'
}

/** An error in the OPS spelling tells as much as an answer does. */
export function settleProbe(request: PendingRequest, payload: unknown): void {
  if (request.path === LIST && spelling(payload) === 'ops') request.profile.value(payload)
}
