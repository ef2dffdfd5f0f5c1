// What a client is made with, and what may be said with each call and subscription.
import type { Clock } from '@parley/core'
import type { CallOptions, SubscribeOptions } from '../call-options.ts'
import type { EnvOptions } from '../env.ts'
import type { OperationType } from '../operation-spec.ts'
import type { OperationRegistry } from '../registry.ts'
import type { LinkSource } from '../routing/remote.ts'
import type { ConnectionOptions } from './connection.ts'
import type { Resume } from './resume.ts'

export interface ClientOptions extends ConnectionOptions {
  readonly registry?: OperationRegistry
  /**
   * Further bindings of the env that its handlers get: `remote(peer)` is the other side. Without any, namespaces are
   * the registry's, and `service/op` of another node is asked of the other side: `env.invoke('head', 'agent/chat')`.
   */
  readonly env?: (peer: LinkSource) => EnvOptions
  readonly clock?: Clock
  /** Queries whose link is lost are sent again. Mutations never are. */
  readonly retryQueries?: boolean
}

interface Waits {
  /** False: fails at once where there is no connection. */
  readonly wait?: boolean
  readonly type?: OperationType
}

export interface ClientCallOptions extends Omit<CallOptions, 'streams'>, Waits {
  readonly retryQueries?: boolean
}

export interface ClientSubscribeOptions<Input = unknown, Output = unknown>
  extends Omit<SubscribeOptions, 'single'>,
    Waits {
  /** How to resume after a loss. Without it the subscription fails with its link. */
  readonly resume?: Resume<Input, Output>
}
