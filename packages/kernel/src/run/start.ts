// How a run begins (W-LIFE-12) and ends (W-LIFE-13, W-LIFE-14).
import { compile, limits, type ObjectId, ok, type Result, type Static, Type, type WorkspaceId } from '@parley/core'
import { HASH_ALGORITHM } from '@parley/trail'
import { bodyLimits, isReservedActor } from '@parley/trail/events'
import { type Batch, clip } from '../batch.ts'
import { expandHighway, type HighwayDraft } from '../highway/config.ts'
import { writeGatesEnded } from '../highway/invalidate.ts'
import { STANDING_KEYS } from '../house/standing-run.ts'
import { openInto } from '../integration/integration.ts'
import { identityFor } from '../integrity/identity.ts'
import { PROOF_ALGORITHM } from '../integrity/keyed.ts'
import { BY_PROTOCOL, writeTransition, writeUndeliverable } from '../lifecycle/transition.ts'
import { kernelDefaults } from '../limits.ts'
import type { RunSettings } from '../objects.ts'
import { writeRight } from '../port-right/decide.ts'
import { invalidArgument, invalidState, limitReached, type Refusal } from '../refusal.ts'
import { actionsOf } from '../role/matrix.ts'
import { loadTaxonomy, PROTOCOL_VERSION, type Vocabulary } from '../taxonomy/taxonomy.ts'
import { writeForcedStop } from '../workspace/failure.ts'
import { ended, subtree } from '../workspace/workspace.ts'
import { DEPLOYMENT_MODEL } from './deployment.ts'
import { rootOf } from './run.ts'

/** `owner` answers for the run: they own what nobody else does, and get its escalations. */
const RunDraftSchema = Type.Object(
  {
    owner: Type.String({ minLength: 1, maxLength: bodyLimits.userIdLength }),
    taxonomy: Type.Optional(Type.Unknown()),
    context: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    highway: Type.Optional(Type.Unknown()),
    /** Percent of a limit at which its warning is written (W-BUDGET-04). */
    budget_warning: Type.Optional(Type.Number({ exclusiveMinimum: 0, maximum: 100 })),
  },
  { additionalProperties: false },
)
export type RunDraft = Omit<Static<typeof RunDraftSchema>, 'highway'> & { readonly highway?: HighwayDraft }

const validator = compile(RunDraftSchema, { name: 'run' })

export function decideStart(batch: Batch, submitted: unknown): Result<WorkspaceId> {
  if (batch.run.root) return invalidState(`The run ${batch.run.id} has begun already.`)
  const draft = validator.check(submitted)
  if (!draft.ok) return invalidArgument(draft.error.message)
  const { taxonomy, context, owner, budget_warning } = draft.value
  // W-TAX-05: a taxonomy with any fault refuses the start; there is no trail yet that could say so.
  const vocabulary = loadTaxonomy(taxonomy)
  if (!vocabulary.ok) return vocabulary
  const standing = STANDING_KEYS.some(key => context?.[key] === true)
  const unfit = unfitOwner(batch, owner, vocabulary.value, standing)
  if (unfit) return unfit
  const actions = actionsOf(vocabulary.value.roles.get('coordinator')!, false)
  if (actions.length > bodyLimits.listItems) return limitReached('actions of a role', bodyLimits.listItems)
  // W-HWY-01: so does a highway that is not fully understood.
  const highway = expandHighway(draft.value.highway)
  if (!highway.ok) return highway

  const id = batch.newId<WorkspaceId>('ws')
  // W-SEC-04: who the coordinator is, is known before any workspace exists.
  const wanted = { workspace: id, role: 'coordinator', task: null, context: context ?? {} }
  const agent = identityFor(batch, wanted, id)
  if (!agent.ok) return agent
  if (taxonomy != null) batch.store('taxonomy', batch.newId('obj'), taxonomy)
  const settings: RunSettings = { budget_warning: budget_warning ?? kernelDefaults.budgetWarning }
  batch.store('settings', batch.newId('obj'), settings)
  if (highway.value.enabled) batch.store('highway', batch.newId('obj'), highway.value)
  const contextId = context && batch.newId<ObjectId>('obj')
  if (contextId) batch.store('context', contextId, context, { of: 'private', workspace: id })
  batch.add('workspace_created', id, 'protocol', {
    workspace_id: id,
    role: 'coordinator',
    parent: null,
    delegate: false,
    originator: 'system',
    owner,
    visibility_set: [id],
    authority_set: { resources: ['*'], actions: [...actions] },
    timeout: null,
    priority: 'normal',
    agent: agent.value,
    ...(contextId && { context: contextId }),
    hash_algorithm: HASH_ALGORITHM,
    taxonomy_id: vocabulary.value.id,
    taxonomy_version: vocabulary.value.version,
    protocol_version: PROTOCOL_VERSION,
    deployment_model: batch.context.deployment ?? DEPLOYMENT_MODEL,
    ...(batch.context.proofs && {
      content_proof: PROOF_ALGORITHM,
      content_objects: batch.objects.map(({ kind }) => kind),
    }),
  })
  writeRight(batch, { actor: 'protocol', id }, 'receive', id, id)
  return ok(id)
}

/** W-USER-07: the directory knows the owner, except of the node's own runs: they exist before any user. */
function unfitOwner(batch: Batch, owner: string, { roles }: Vocabulary, standing: boolean): Refusal | undefined {
  const { users } = batch.context
  const name = clip(owner, limits.messageValueLength)
  if (isReservedActor(owner, new Set(roles.keys())))
    return invalidArgument(`A run belongs to a person; '${name}' stands for something else.`, 'owner_invalid')
  if (!users || standing) return undefined
  const state = users.stateOf(owner)
  if (state === undefined)
    return invalidArgument(`There is no user ${name} to own the run: authenticate first.`, 'owner_invalid')
  if (state === 'active') return undefined
  return invalidArgument(`The user ${name} is ${state} and cannot be given a run.`, 'user_not_active')
}

/** Only when every other workspace is terminal; the root's `closed` is the last entry. */
export function decideClose(batch: Batch): Result<void> {
  const root = rootOf(batch.run)
  if (root.status !== 'active') return invalidState(`The root is ${root.status}; a run closes from active.`)
  for (const each of subtree(root))
    if (each !== root && !ended(each)) return invalidState(`${each.id} is ${each.status}; finish or abort it first.`)
  const open = openInto(batch.run, root)
  if (open) return invalidState(`The salvage of ${open.source.id} is open; merge or discard it first.`)
  const change = { trigger: 'run_complete', ...BY_PROTOCOL } as const
  writeTransition(batch, root, { ...change, to: 'integrating' })
  writeUndeliverable(batch, root, 'integrating')
  writeGatesEnded(batch)
  writeTransition(batch, root, { ...change, to: 'closed' }, 'integrating')
  return ok(undefined)
}

export function decideStop(batch: Batch): Result<void> {
  writeForcedStop(batch, rootOf(batch.run))
  return ok(undefined)
}
