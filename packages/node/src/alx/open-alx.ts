// ALX with all its parts, loaded when somebody wants it: the HTTP surface, or a command about blocks and sessions.
import { join } from 'node:path'
import { ALX_PROTOCOL_VERSION, CAPABILITIES } from '@alx/protocol'
import { AlxServer, type Authenticate, alxOpenApi, alxPlugin, Knowledge, Nonces, SignedRequests } from '@parley/alx'
import { coordinatorRunPort } from '@parley/coordinator'
import { type Principal, type RunPort, refuse, SystemIds } from '@parley/core'
import type { FastifyRequest } from 'fastify'
import type { HttpMount } from '../http/mount.ts'
import type { OperationDeps } from '../operations/deps.ts'
import type { Spending } from '../spending/spending.ts'
import { alxRefusal } from './refusals.ts'
import { solveSetup } from './solving.ts'
import { DomainTeams } from './teams.ts'

export type AlxParts = Pick<
  OperationDeps,
  'config' | 'trail' | 'coordinator' | 'programs' | 'clock' | 'owner' | 'log' | 'passphrase'
> & { readonly spending: Pick<Spending, 'mayStart' | 'costUnknown'> }

export interface OpenAlx {
  readonly knowledge: Knowledge
  readonly server: AlxServer
  readonly mount: HttpMount
  close(): Promise<void>
}

const PREFIX = '/alx'

/** Sees all runs of ALX, and acts in none. */
const SELF: Principal = { id: 'alx', kind: 'system', scopes: ['owner'] }

/** Rejects where the library cannot be read. */
export async function openAlx(parts: AlxParts): Promise<OpenAlx> {
  const { config, coordinator, clock, log } = parts
  const { values, paths } = config
  const teams = new DomainTeams(values.alxDomains, paths.folder)
  for (const problem of teams.problems()) log.error(problem)
  const ids = new SystemIds()
  const knowledge = await Knowledge.open({
    library: coordinator.library,
    clock,
    ids,
    indexFile: join(paths.folder, 'alx.index.db'),
    minConfidence: values.alxMinConfidence,
    protocolFeeBps: values.alxFeeBps,
    isSettlementPaused: () => values.alxSettlementPaused,
    teamOf: domain => teams.of(domain)?.outline,
    onProblem: (problem, error) => log.warn(`ALX: ${problem}`, { ...(error && { cause: error }) }),
  })
  try {
    const signed = values.alxChainId === undefined ? undefined : await signedRequests(parts, values.alxChainId)
    const server = new AlxServer({
      runs: runPort(parts, teams, knowledge),
      library: coordinator.library,
      selector: knowledge.selector,
      executor: knowledge.executor,
      knowledge,
      self: SELF,
      log: (level, message, facts) => log[level](message, facts),
      clock,
      ids,
      settings: {
        minConfidence: values.alxMinConfidence,
        eventRetentionMs: values.alxEventsMs,
        abandonAfterMs: values.alxAbandonMs,
        runLimitMs: values.alxRunLimitMs,
        aliases: values.alxAliases,
      },
      capabilities: CAPABILITIES.filter(name => name !== 'signed-requests' || signed !== undefined),
    })
    const close = async () => {
      server.close()
      await knowledge.close()
    }
    return { knowledge, server, mount: mountOf(server, signed), close }
  } catch (thrown) {
    await knowledge.close()
    throw thrown
  }
}

async function signedRequests({ config, clock }: AlxParts, chainId: string): Promise<SignedRequests> {
  const nonces = await Nonces.open(join(config.paths.folder, 'alx.nonces'), () => clock.now())
  return new SignedRequests({ chainId, verifyingContract: config.values.alxContract, nonces, clock })
}

function runPort(parts: AlxParts, teams: DomainTeams, knowledge: Knowledge): RunPort {
  const { coordinator, trail, spending, passphrase } = parts
  const port = coordinatorRunPort({
    coordinator,
    trail,
    setup: request => solveSetup({ ...parts, teams, knowledge }, request),
    costUnknown: run => spending.costUnknown(run),
  })
  return {
    ...port,
    // A token knows no passphrase, and one that answers need is asked of a person.
    answer: async (waiting, options) =>
      passphrase.required
        ? refuse('permission_denied', 'Answers need the passphrase of this profile, which is asked for in its inbox.')
        : port.answer(waiting, options),
  }
}

const authenticate: Authenticate = async ({ principal, unauthenticated }) =>
  principal ? { principal } : { refused: unauthenticated === 'unauthorized' ? 'invalid' : 'missing' }

function mountOf(server: AlxServer, signed: SignedRequests | undefined): HttpMount {
  return {
    prefix: PREFIX,
    authenticates: true,
    headers: { 'x-alx-protocol-version': ALX_PROTOCOL_VERSION },
    plugin: (fastify, { streams }) => {
      const allowed = (request: FastifyRequest) => streams.allowed(request)
      return alxPlugin(fastify, { server, authenticate, allowed, ...(signed && { signedRequests: signed }) })
    },
    refuse: (refusal, correlationId, url) =>
      alxRefusal(refusal, correlationId, server.protocol, url.split('?')[0] === `${PREFIX}/v1/solve`),
    openapi: () => alxOpenApi(PREFIX),
  }
}
