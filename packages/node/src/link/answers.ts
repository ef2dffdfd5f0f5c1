// What the link gets of the rest of the node: the way from an inbound ask to a run, what is known of the runs of a node that died, and the
// operations that peers may call.
import type { OperationMap } from '@parley/call'
import { type Conducting, conductorRunPort, type Team } from '@parley/coordinator'
import type { Clock, RunRequest } from '@parley/core'
import { type LinkIdentity, runAskPort } from '@parley/link'
import type { Trail } from '@parley/trail'
import type { AgentDirectory } from '../agents.ts'
import { linkConfig } from '../config/link-settings.ts'
import type { Config } from '../config/load.ts'
import type { NodeLog } from '../log.ts'
import { preflight, type Surroundings } from '../preflight.ts'
import type { Spending } from '../spending/spending.ts'
import { answeringTeam } from './answering.ts'
import { type CallDoor, openCallDoor } from './call-door.ts'
import type { LinkSurroundings, NodeLink } from './node-link.ts'
import { pinnedIdentities } from './pinned-identities.ts'
import { planHere } from './plan.ts'
import { settleAsks } from './settle.ts'

export interface AnswerParts {
  readonly config: Config
  readonly trail: Trail
  readonly conductor: Conducting
  readonly link: NodeLink
  readonly spending: Pick<Spending, 'costUnknown'>
  readonly agents: AgentDirectory
  readonly programs: Surroundings
  readonly operations: OperationMap
  readonly clock: Clock
  readonly log: NodeLog
}

export function linkSurroundings(parts: AnswerParts): LinkSurroundings {
  const { config, trail, conductor, link, spending, agents, programs, clock, log } = parts
  const { peers } = link.service
  const answering = {
    config,
    agents,
    ready: (team: Team, intent: string) => preflight(team, intent, programs),
    log,
  }
  const teamFor = ({ intent }: RunRequest) => answeringTeam(answering, intent)
  const runs = conductorRunPort({ conductor, trail, teamFor })
  const door = doorOf(parts)
  return {
    ask: runAskPort({
      runs,
      identities: pinnedIdentities(peers),
      unknownCost: run => spending.costUnknown(run),
    }),
    settle: orphans => settleAsks(orphans, conductor, clock, log),
    ...(door && { door }),
  }
}

/** The listener of the call protocol, where somebody wants one. It keeps the port that it was given first: peers know it. */
function doorOf({ config, link, operations, clock, log }: AnswerParts): LinkSurroundings['door'] {
  const { alpCallPort } = config.values
  if (alpCallPort === undefined) return undefined
  let port = alpCallPort
  return async (identity: LinkIdentity): Promise<CallDoor> => {
    const plan = planHere(config.paths.profile, { ...linkConfig(config.values), tcpPort: port })
    const { host = '127.0.0.1', fallback } = plan.tcp ?? {}
    const door = await openCallDoor({
      host,
      port,
      ...(fallback !== undefined && { fallback }),
      identity,
      peers: link.service.peers,
      operations,
      clock,
      log,
    })
    port = Number(door.at.slice(door.at.lastIndexOf(':') + 1))
    return door
  }
}
