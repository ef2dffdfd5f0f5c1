// How this node carries out a solve: from what ALX stored with the request to team, plan and project. What keeps it
// from being carried out goes to the owner's log; the client learns only that there is something.
import { type Knowledge, procedureEnvelope, readSolveFacts, type SolveFacts, type StoredAttempt } from '@parley/alx'
import type { RunSetup } from '@parley/coordinator'
import { ok, ParleyError, type Principal, type Result, type RunRequest, refuse } from '@parley/core'
import { preflight } from '../agents/preflight.ts'
import type { OperationDeps } from '../operations/deps.ts'
import { solvingTeam } from './solve-plan.ts'
import type { DomainTeam, DomainTeams } from './teams.ts'

export type SolvingParts = Pick<OperationDeps, 'config' | 'owner' | 'programs' | 'log'> & {
  readonly spending: Pick<OperationDeps['spending'], 'mayStart'>
  readonly teams: Pick<DomainTeams, 'of'>
  readonly knowledge: Pick<Knowledge, 'read' | 'mayExecute'>
}

/** Refuses with `unknown_team`, whose words a client may read, and with `budget_exceeded`. */
export async function solveSetup(parts: SolvingParts, request: RunRequest): Promise<Result<RunSetup>> {
  const { owner } = parts
  const facts = readSolveFacts(request.context ?? {})
  if (!facts) return refuse('invalid_argument', 'This is not a solve.')
  const { refusal, result } = facts
  if (refusal) return ok({ ends: { outcome: 'failed', code: refusal.code, message: refusal.message }, owner })
  if (result !== undefined) return ok({ ends: { outcome: 'complete', text: result }, owner })
  const may = parts.spending.mayStart()
  if (!may.ok) return may.error.code === 'budget_exceeded' ? may : cannot(parts, may.error)
  const domain = teamOf(parts, facts)
  if (!domain.ok) return cannot(parts, domain.error)
  const payloads = await Promise.all(facts.attempts.map(each => payloadOf(parts, each, facts, domain.value, request)))
  const team = solvingTeam({ attempts: facts.attempts, payloads }, domain.value)
  if (!team.ok) return cannot(parts, team.error)
  const fit = preflight(team.value, request.intent, parts.programs)
  if (!fit.ok) return cannot(parts, fit.error)
  const { project } = domain.value
  // Who wrote the configuration has approved what a domain's team does: its own gates and approvals stand.
  return ok({
    team: team.value,
    approved: true,
    approvalMs: parts.config.values.alxApprovalMs,
    owner,
    ...(project !== undefined && { project }),
  })
}

function teamOf({ teams }: SolvingParts, { intent }: SolveFacts): Result<DomainTeam> {
  try {
    const found = teams.of(intent.domain)
    return found ? ok(found) : refuse('unknown_team', `The domain ${intent.domain} has no team.`)
  } catch (thrown) {
    if (thrown instanceof ParleyError) return { ok: false, error: thrown }
    throw thrown
  }
}

/** One that is too large to be stored twice is read from where it is. Undefined: it may not be executed. */
async function payloadOf(
  { knowledge }: SolvingParts,
  { artifact: { kbHash, origin, payload } }: StoredAttempt,
  { intent }: SolveFacts,
  { outline }: DomainTeam,
  { principal }: { readonly principal: Principal },
): Promise<unknown> {
  if (origin === 'generated') return payload ?? procedureEnvelope(intent, outline).payload
  if (!knowledge.mayExecute(principal, kbHash)) return undefined
  if (payload) return payload
  const block = await knowledge.read(kbHash, principal)
  return block.ok ? block.value.envelope.payload : undefined
}

function cannot({ log }: SolvingParts, error: ParleyError): Result<never> {
  log.error(`a solve cannot be carried out: ${error.message}`, { code: error.code })
  return refuse('unknown_team', 'The team of this domain cannot work now. The owner of the server was told why.')
}
