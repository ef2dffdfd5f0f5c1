// /peers: who is pinned and what they may call, and who has knocked without being pinned (ALP-PEER, ALP-PEND).
import { ok, type Result, refuse, type Static, Type } from '@parley/core'
import {
  ACCEPTED_METHODS,
  fingerprintsOf,
  type NewPeer,
  type Peer,
  type PendingPeer,
  readInvitation,
} from '@parley/link'
import { nodeLimits } from '../limits.ts'
import { object } from '../object.ts'
import type { OperationDeps } from './deps.ts'
import { answered, answerOf, Count, FOUND, mutation, Nothing, query, text } from './spec.ts'

const Id = text(256, 'What this profile calls the peer')
const Alias = text(256)
const Address = text(256, '`host:port`')
const Allow = Type.Array(text(256), {
  maxItems: 64,
  description: 'Methods such as `link.ask`, and operations such as `/runs/list`; none: it may call nothing',
})
const Fingerprint = Type.String({ description: '`SHA256:…`; empty where the key is none' })
const Spoken = Type.String({ description: 'Eight groups of digits that two people compare aloud' })

const PeerSchema = object({
  id: Type.String(),
  pubkey: Type.String({ description: 'base64 of its 32 bytes' }),
  fingerprint: Fingerprint,
  spoken: Spoken,
  alias: Type.Optional(Type.String()),
  address: Type.Optional(Type.String({ description: '`host:port`; without it the peer is a profile of this machine' })),
  allow: Type.Array(Type.String()),
  per_minute: Count,
  /** What its asks have cost today. */
  spent_today: Type.Optional(object({ usd: Type.Number(), tokens: Count })),
})

const PendingSchema = object({
  pubkey: Type.String(),
  fingerprint: Fingerprint,
  spoken: Spoken,
  address: Type.Optional(
    Type.String({ description: 'Where it called from; its port is seldom the one where it listens' }),
  ),
  first_seen: Type.Number({ description: 'Unix seconds' }),
  last_seen: Type.Number({ description: 'Unix seconds' }),
})

const CHANGING = ['peers_unreadable', 'locked'] as const
const PINNING = ['invalid_peer', 'link_bad_address', 'peer_exists', 'too_many_peers', ...CHANGING] as const

const Key = Type.String({
  minLength: nodeLimits.keyBeginning,
  maxLength: nodeLimits.invitationLength,
  description: 'A public key or a fingerprint, or the beginning of one if that is unique',
})
const OfPeer = object({ peer: PeerSchema })

export function peerService({ link }: OperationDeps) {
  const { service } = link
  const view = (peer: Peer) => {
    const spent = service.ledger.today().byPeer.get(peer.id)
    const { id, pubkey, perMinute, ...rest } = peer
    return {
      id,
      pubkey,
      ...digitsOf(pubkey),
      ...rest,
      per_minute: perMinute,
      ...(spent && { spent_today: { usd: spent.usd, tokens: spent.tokens } }),
    }
  }
  const changed = async (change: Promise<Result<Peer>>) => ({ peer: view(await answerOf(change)) })
  const pinned = async (change: Promise<Result<Peer>>) => {
    const answer = await changed(change)
    await link.peersChanged()
    return answer
  }
  return {
    '/peers/list': query({
      description: 'Who is pinned, in the order of the list, and what is wrong with the list or the link.',
      input: Nothing,
      output: object({ peers: Type.Array(PeerSchema), problems: Type.Array(Type.String()) }),
      handle: () => ({ peers: service.peers.all().map(view), problems: link.problems }),
    }),
    '/peers/pin': mutation({
      description:
        'Pins a peer by its invitation or its key: from now on it may call what it is allowed to. Compare the fingerprint aloud first.',
      input: object({
        invitation: Type.Optional(text(nodeLimits.invitationLength)),
        pubkey: Type.Optional(text(nodeLimits.invitationLength)),
        id: Type.Optional(Id),
        alias: Type.Optional(Alias),
        address: Type.Optional(Address),
        allow: Type.Optional(Allow),
        per_minute: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000 })),
      }),
      output: OfPeer,
      refuses: ['invalid_argument', 'bad_invitation', ...PINNING],
      handle: async ({ invitation, pubkey, id, per_minute, ...rest }) => {
        const given = answered(invited(invitation, pubkey))
        const name = id ?? given.name
        if (name === undefined)
          answered(refuse('invalid_argument', 'Say what the peer shall be called here: the key has no name.'))
        const peer: NewPeer = {
          ...given,
          allow: ACCEPTED_METHODS,
          ...rest,
          id: name!,
          ...(per_minute !== undefined && { perMinute: per_minute }),
        }
        answered(mayPin(peer))
        return pinned(service.pin(peer))
      },
    }),
    '/peers/unpin': mutation({
      description: 'Unpins a peer and forgets what was said with it: from now on it gets silence.',
      input: object({ id: Id }),
      output: OfPeer,
      refuses: ['unknown_peer', ...CHANGING],
      handle: ({ id }) => changed(service.unpin(id)),
    }),
    '/peers/allow': mutation({
      description: 'Sets what a peer may call, in place of what it was allowed before.',
      input: object({ id: Id, allow: Allow }),
      output: OfPeer,
      refuses: ['unknown_peer', 'invalid_peer', ...CHANGING],
      handle: ({ id, allow }) => changed(service.peers.allow(id, allow)),
    }),
    '/peers/pending': query({
      description: 'Who has called without being pinned, and got silence; the newest first.',
      input: Nothing,
      output: object({ pending: Type.Array(PendingSchema) }),
      handle: () => ({ pending: service.pending().map(pendingView) }),
    }),
    '/peers/accept': mutation({
      description: 'Pins somebody who has knocked, under a name of your choice.',
      input: object({
        key: Key,
        id: Id,
        alias: Type.Optional(Alias),
        address: Type.Optional(Address),
        allow: Type.Optional(Allow),
      }),
      output: OfPeer,
      refuses: [...FOUND, ...PINNING],
      handle: ({ key, ...given }) => {
        const peer = { ...given, pubkey: answered(knocked(service.pending(), key)).pubkey }
        answered(mayPin(peer))
        return pinned(service.accept(peer))
      },
    }),
    '/peers/dismiss': mutation({
      description: 'Forgets that somebody has knocked. They are told nothing, and may knock again.',
      input: object({ key: Key }),
      output: object({ pubkey: Type.String() }),
      refuses: [...FOUND],
      handle: ({ key }) => {
        const { pubkey } = answered(knocked(service.pending(), key))
        service.discard(pubkey)
        return { pubkey }
      },
    }),
  }

  function mayPin({ id, pubkey }: Pick<NewPeer, 'id' | 'pubkey'>): Result<void> {
    const own = link.identity()
    if (own.ok && own.value.pubkey === pubkey)
      return refuse('invalid_peer', 'This is the key of this profile itself; paste the line of the other side.')
    // The ledger books what is nobody's under such names (ALP-BUD-02).
    return id.startsWith(RESERVED)
      ? refuse('invalid_peer', `A peer cannot be called ${id}: names that begin with ${RESERVED} are the ledger's.`)
      : ok(undefined)
  }
}

const RESERVED = '__'

type Given = Pick<NewPeer, 'pubkey' | 'address'> & { readonly name?: string }

function invited(invitation: string | undefined, pubkey: string | undefined): Result<Given> {
  if ((invitation === undefined) === (pubkey === undefined))
    return refuse('invalid_argument', 'A peer is pinned by its invitation or by its key: give one of them.')
  return invitation === undefined ? ok({ pubkey: pubkey! }) : readInvitation(invitation)
}

function digitsOf(pubkey: string): { readonly fingerprint: string; readonly spoken: string } {
  return fingerprintsOf(pubkey) ?? { fingerprint: '', spoken: '' }
}

function pendingView({ pubkey, firstSeen, lastSeen, ...rest }: PendingPeer): Static<typeof PendingSchema> {
  return { pubkey, ...digitsOf(pubkey), ...rest, first_seen: firstSeen, last_seen: lastSeen }
}

const PREFIX = 'SHA256:'

/** Whom a key, a fingerprint or the beginning of either means. */
function knocked(pending: readonly PendingPeer[], key: string): Result<PendingPeer> {
  const found = pending.filter(({ pubkey }) => {
    const { fingerprint } = digitsOf(pubkey)
    return [pubkey, fingerprint, fingerprint.slice(PREFIX.length)].some(each => each.startsWith(key))
  })
  const [only] = found
  if (only && found.length === 1) return ok(only)
  return only
    ? refuse('ambiguous', `${found.length} keys begin so; give more of it.`, {
        details: { keys: found.map(({ pubkey }) => pubkey) },
      })
    : refuse('not_found', `Nobody with the key ${key} has called; see the list of who has.`)
}
