// /link: who this profile is to others, and calling peers (ALP-PING, ALP-ASK, ALP-CANCEL).
import { randomBytes } from 'node:crypto'
import { type Result, refuse, type Static, Type, ticksPerMillisecond } from '@parley/core'
import { fingerprintsOf, type LinkClient, type LinkFailure, linkDefaults, type Target } from '@parley/link'
import { nodeLimits } from '../limits.ts'
import { asked } from '../link/asked.ts'
import { callPeer } from '../link/calling.ts'
import { refusalOf } from '../link/failure.ts'
import { object } from '../object.ts'
import { rotateKey } from '../profile/key-rotation.ts'
import type { OperationDeps } from './deps.ts'
import { answered, answerOf, Count, callError, mutation, Nothing, query, streamed, subscription, text } from './spec.ts'

const PeerId = text(256, 'Its id in the peer list')
const Session = Type.String({ maxLength: 256 })
const Timeout = Type.Integer({
  minimum: 1,
  maximum: nodeLimits.peerTimeoutMs,
  description: 'Milliseconds for connecting and for each message',
})
const KeySchema = object({ pubkey: Type.String(), fingerprint: Type.String() })
const Spoken = Type.String({ description: 'Eight groups of digits that two people compare aloud' })
const Invitation = Type.String({ description: 'The line that others paste to pin this profile' })

export const ListeningSchema = Type.Array(
  object({
    carrier: Type.Enum(['unix', 'tcp', 'call']),
    at: Type.String({ description: 'A path, or `host:port`' }),
  }),
)

/** Where the node is reached by peers. */
export type ListeningAt = Static<typeof ListeningSchema>[number]

/** Those of a call on its way to a peer and back. */
const calling = [
  'link_off',
  'key_unusable',
  'unknown_peer',
  'link_bad_address',
  'link_bad_identity',
  'target-offline',
  'link_handshake_failed',
  'link_handshake_timeout',
  'link_empty_response',
  'link_timeout',
  'link_bad_response',
  'link_too_large',
  'link_cancelled',
  'peer_refused',
] as const

const AskedSchema = Type.Union([
  object({ type: Type.Literal('session'), session: Type.String() }),
  object({ type: Type.Literal('text'), text: Type.String() }),
  object({
    type: Type.Literal('answer'),
    text: Type.String(),
    session: Type.String(),
    tokens_in: Count,
    tokens_out: Count,
    usd: Type.Number({ minimum: 0, description: 'What the peer has spent' }),
    interrupted: Type.Boolean({ description: 'The turn was cancelled before it was done' }),
    failed: Type.Boolean({ description: 'The turn failed: the text ends with the error' }),
  }),
])
/** What comes of an ask, one after the other. */
export type AskedValue = Static<typeof AskedSchema>

export function linkService(deps: OperationDeps) {
  const { link, clock, log, config } = deps
  const reach = (peer: string): { readonly client: LinkClient; readonly target: Target } => ({
    client: answered(link.client()),
    target: answered(link.target(peer)),
  })
  const got = <T>(peer: string, said: Result<T, LinkFailure>): T => {
    if (said.ok) return said.value
    throw callError(refusalOf(peer, said.error))
  }
  return {
    '/link/identity': query({
      description: 'Who this profile is to others, where it is reached, and the line that they paste to pin it.',
      input: Nothing,
      output: object({
        profile: Type.String(),
        pubkey: Type.String(),
        fingerprint: Type.String(),
        spoken: Spoken,
        invitation: Invitation,
        listening: ListeningSchema,
      }),
      refuses: ['key_unusable'],
      handle: () => ({
        profile: config.paths.profile,
        ...answered(link.identity()),
        listening: link.listening,
      }),
    }),
    '/link/rotate-key': mutation({
      description:
        'Puts a new key in place of the profile’s one. Peers get silence from then on, and give it, until they have pinned the new one.',
      input: Nothing,
      output: object({
        old: KeySchema,
        new: object({ pubkey: Type.String(), fingerprint: Type.String(), spoken: Spoken }),
        invitation: Invitation,
        /** It is on record in the trail. */
        recorded: Type.Boolean(),
        peers: Type.Array(Type.String(), {
          description: 'Who is pinned here: all of them must pin the new key',
        }),
      }),
      refuses: ['not_signed', 'key_unusable', 'trail_unavailable', 'trail_full'],
      handle: async () => {
        const { old, recorded } = await answerOf(rotateKey(deps))
        const { pubkey, fingerprint, spoken, invitation } = answered(link.identity())
        return {
          old: { pubkey: old.key, fingerprint: fingerprintsOf(old.key)!.fingerprint },
          new: { pubkey, fingerprint, spoken },
          invitation,
          recorded,
          peers: link.service.peers.all().map(({ id }) => id),
        }
      },
    }),
    '/link/ping': query({
      description: 'Whether a peer is there and takes our calls, and how long it took.',
      input: object({ peer: PeerId, timeout_ms: Type.Optional(Timeout) }),
      output: object({ peer: Type.String(), version: Type.Integer(), agent_name: Type.String(), ms: Type.Number() }),
      refuses: [...calling],
      handle: async ({ peer, timeout_ms = linkDefaults.pingMs }, { signal }) => {
        const { client, target } = reach(peer)
        const before = clock.now()
        const nonce = randomBytes(8).toString('hex')
        const { version, agentName } = got(peer, await client.ping(target, { nonce, timeoutMs: timeout_ms, signal }))
        const ms = Math.max(0, clock.now() - before) / ticksPerMillisecond
        return { peer, version, agent_name: agentName, ms }
      },
    }),
    '/link/ask': subscription({
      description:
        'One turn of a peer’s agent: its session, its text as it comes, then its answer. Ending the subscription cancels the turn there.',
      input: object({
        peer: PeerId,
        prompt: text(nodeLimits.intentLength),
        usd: Type.Optional(Type.Number({ exclusiveMinimum: 0, maximum: nodeLimits.askUsd })),
        tokens: Type.Optional(Type.Integer({ minimum: 1, maximum: nodeLimits.askTokens })),
        timeout_ms: Type.Optional(Timeout),
      }),
      output: AskedSchema,
      refuses: [...calling, 'machine_fault'],
      async *handle({ peer, prompt, usd, tokens, timeout_ms }, { signal }) {
        const { held } = deps.coordinator
        if (held) answered(refuse('machine_fault', `${held.message} Nothing was asked; ask again then.`))
        const failed = (what: string, cause: unknown) => log.warn(`link: ${what}`, { cause })
        const budget = { ...(usd !== undefined && { usd }), ...(tokens !== undefined && { tokens }) }
        const options = {
          ...((usd ?? tokens) !== undefined && { budget }),
          ...(timeout_ms !== undefined && { timeoutMs: timeout_ms }),
        }
        yield* streamed(asked({ ...reach(peer), peer, failed }, prompt, options, signal))
      },
    }),
    '/link/cancel': mutation({
      description: 'Cancels a turn that this profile has asked a peer for; without a session, whichever runs.',
      input: object({ peer: PeerId, session: Type.Optional(Session) }),
      output: object({ cancelled: Type.Boolean() }),
      refuses: [...calling],
      handle: async ({ peer, session }, { signal }) => {
        const { client, target } = reach(peer)
        return { cancelled: got(peer, await client.cancel(target, session, { signal })) }
      },
    }),
    '/link/call': mutation({
      description:
        'Calls an operation of a peer’s node over its second listener. The peer’s list must allow it by its path.',
      input: object({
        peer: PeerId,
        operation: Type.String({ pattern: '^/[^/\\s]+/\\S+$', maxLength: 256 }),
        input: Type.Optional(Type.Unknown()),
        port: Type.Optional(Type.Integer({ minimum: 1, maximum: 65_535 })),
        timeout_ms: Type.Optional(Timeout),
      }),
      output: object({ output: Type.Unknown() }),
      refuses: [...calling],
      handle: async ({ peer, operation, input = {}, port = linkDefaults.callPort, timeout_ms }, { signal }) => {
        const timeoutMs = timeout_ms ?? linkDefaults.callMs
        const reached = answered(link.caller(peer, port))
        const call = { peer, ...reached, clock, operation, input, timeoutMs, signal }
        return { output: await answerOf(callPeer(call)) }
      },
    }),
  }
}
