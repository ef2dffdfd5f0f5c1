// What the link gets of the rest of the node: the way from an inbound ask to a run, what is known of the runs of a node
// that died, and the operations that peers may call.
import type { OperationMap } from '@parley/call'
import { coordinatorRunPort } from '@parley/coordinator'
import type { LinkIdentity } from '@parley/link'
import type { OperationDeps } from '../operations/deps.ts'
import type { Spending } from '../spending/spending.ts'
import { answeringTeam } from './answering.ts'
import { type CallListener, openCallListener } from './call-listener.ts'
import type { LinkSurroundings } from './node-link.ts'
import { planHere } from './plan.ts'
import { settleAsks } from './settle.ts'

type AnswerParts = Pick<
  OperationDeps,
  'config' | 'trail' | 'coordinator' | 'link' | 'agents' | 'programs' | 'clock' | 'log'
> & {
  readonly spending: Pick<Spending, 'costUnknown'>
  readonly operations: OperationMap
}

export function linkSurroundings(parts: AnswerParts): LinkSurroundings {
  const { trail, coordinator, spending, clock, log } = parts
  const runs = coordinatorRunPort({
    coordinator,
    trail,
    setup: ({ intent }) => answeringTeam(parts, intent),
    costUnknown: run => spending.costUnknown(run),
  })
  const listenForCalls = callListening(parts)
  return {
    runs,
    settle: orphans => settleAsks(orphans, coordinator.records, clock, log),
    ...(listenForCalls && { listenForCalls }),
  }
}

/**
 * The listener of the call protocol, where somebody wants one. It keeps the port that it was given first: peers know
 * it.
 */
function callListening({ config, link, operations, clock, log }: AnswerParts): LinkSurroundings['listenForCalls'] {
  const { alpCallPort } = config.values
  if (alpCallPort === undefined) return undefined
  let port = alpCallPort
  return async (identity: LinkIdentity): Promise<CallListener> => {
    const listener = await openCallListener({
      at: { host: '127.0.0.1', ...planHere(config, { pinned: true, port }).tcp, port },
      identity,
      peers: link.service.peers,
      operations,
      clock,
      log,
    })
    port = Number(listener.at.slice(listener.at.lastIndexOf(':') + 1))
    return listener
  }
}
