// What carrying out an artifact takes (ALX-HTTP-08): the steps of a procedure on the team of the domain, or, where
// there is no team, nothing but its content. Looks and changes nothing.
import type { SolveArtifact } from '@alx/protocol'
import { ok, type Principal, type Result, refuse } from '@parley/core'
import { fitProcedure, parseProcedure, type TeamOutline } from '../kb/procedure.ts'
import { renderPayload } from '../kb/rendering.ts'
import type { ExecutionPlan, PlanExecutor, SelectionRequest } from '../ports.ts'
import type { RelatedBlock } from './related.ts'

export interface ExecutorOptions {
  readonly teamOf?: ((domain: string) => TeamOutline | undefined) | undefined
  readonly mayExecute: (user: Principal, kbHash: string) => boolean
  readonly relatedBlocks: (intent: SelectionRequest['intent'], reader: Principal) => Promise<readonly RelatedBlock[]>
}

export class KnowledgeExecutor implements PlanExecutor {
  readonly #options: ExecutorOptions

  constructor(options: ExecutorOptions) {
    this.#options = options
  }

  async plan(artifact: SolveArtifact, { intent, reader }: SelectionRequest): Promise<Result<ExecutionPlan>> {
    const { teamOf, mayExecute, relatedBlocks } = this.#options
    const { kbHash, origin, payload = {} } = artifact
    const team = teamOf?.(intent.domain)
    if (!team) return ok({ kind: 'none', result: renderPayload(payload) })
    // What was selected may have been slashed, or lost its trust, since.
    if (origin === 'selected' && !mayExecute(reader, kbHash)) return unfit(`${kbHash} may not be executed here`)
    const procedure = parseProcedure(payload)
    const fitted = procedure.ok ? fitProcedure(procedure.value, team) : procedure
    if (!fitted.ok) return unfit(fitted.error.message)
    const approved = new Set(team.tasks.flatMap(({ id, approve }) => (approve ? [id] : [])))
    const steps = fitted.value.map(({ task, title, skipped }) => ({
      ...{ id: task, name: title },
      ...(skipped !== undefined && { skipped }),
      // A procedure cannot do without an approval that the team asks for.
      ...(approved.has(task) && { approve: true }),
    }))
    const told = await relatedBlocks(intent, reader)
    const { timeoutMs } = team
    return ok({ kind: 'steps', steps, told, ...(timeoutMs !== undefined && { timeoutMs }) })
  }
}

function unfit(why: string) {
  return refuse('unknown_team', why)
}
