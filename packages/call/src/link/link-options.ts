// What a link is made with, and what its node and its listeners are to it.
import type { Clock, Principal } from '@parley/core'
import type { ProfileName } from '../profile/profile.ts'
import type { Transport } from '../transport/transport.ts'
import type { InboundRequest } from '../wire/request.ts'
import type { Inbound } from './inbound.ts'

export interface Dispatcher {
  /** Answers a request, now or later; it never throws. `Inbound` is how. */
  dispatch(request: InboundRequest, inbound: Inbound): void
  /** Who a token belongs to; undefined if it is unknown. */
  identify?(token: string): Promise<Principal | undefined>
}

export interface LinkOptions {
  readonly transport: Transport
  readonly dispatcher: Dispatcher
  readonly clock?: Clock
  /** Spelling of own requests; `auto` finds out what the peer uses. Default `seed`. */
  readonly profile?: ProfileName | 'auto'
  readonly log?: (message: string) => void
}

export type EventListener = (topic: string, payload: unknown) => void
