// What operations are made of: the parts of a node.
import type { Coordination } from '@parley/coordinator'
import type { Clock, Principal } from '@parley/core'
import type { Trail } from '@parley/trail'
import type { AgentDirectory } from '../agents/directory.ts'
import type { Surroundings } from '../agents/preflight.ts'
import type { NodeAlx } from '../alx/node-alx.ts'
import type { Config } from '../config/load.ts'
import type { Tokens } from '../http/tokens/tokens.ts'
import type { TurnIdentities } from '../identity.ts'
import type { NodeLink } from '../link/node-link.ts'
import type { NodeLog } from '../log/log.ts'
import type { AnswerPassphrase } from '../profile/passphrase.ts'
import type { Proof } from '../reach/proof.ts'
import type { Spending } from '../spending/spending.ts'
import type { NodeStatus } from './node.ts'

export interface OperationDeps {
  readonly config: Config
  readonly trail: Trail
  readonly coordinator: Coordination
  readonly link: NodeLink
  readonly identities: Pick<TurnIdentities, 'verbsOf'>
  readonly agents: AgentDirectory
  /** Where programs are looked for, on the node's own path if a caller does not say, and who is pinned. */
  readonly programs: Surroundings
  readonly tokens: Pick<Tokens, 'list' | 'create' | 'revoke'>
  readonly spending: Pick<Spending, 'mayStart' | 'today'>
  readonly alx: Pick<NodeAlx, 'knowledge' | 'server'>
  readonly clock: Clock
  readonly owner: Principal
  readonly log: NodeLog
  readonly passphrase: Pick<AnswerPassphrase, 'check' | 'change' | 'required'>
  /** Throws a `CallError` where the key cannot be used. */
  prove(nonce: string): Proof
  status(): Promise<NodeStatus>
  /** Starts the stop and returns. */
  requestStop(reason: string): void
}
