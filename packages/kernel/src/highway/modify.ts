// What a human may change at a gate (W-HWY-08): only these fields, and the whole subject is checked again by the
// ordinary rules. A change that does not pass leaves the gate as it was, without an entry.
import { compile, type ObjectId, ok, type Result, Type } from '@parley/core'
import {
  Budget,
  bodyLimits,
  type GateType,
  INTEGRATION_STRATEGIES,
  RESOLUTION_STRATEGIES,
  TASK_PRIORITIES,
  WORKSPACE_PRIORITIES,
} from '@parley/trail/events'
import { Batch } from '../batch.ts'
import { type EnvelopeRecord, type PayloadDraft, PayloadSchema } from '../envelope/envelope.ts'
import { sealed } from '../envelope/proof.ts'
import { structured } from '../envelope/send.ts'
import { kernelLimits } from '../limits.ts'
import { invalidArgument, type Refusal } from '../refusal.ts'
import { knownWorkspace } from '../run/run.ts'
import { carryOut } from './effect.ts'
import type { Gate, GateModifications, Paused } from './gate.ts'
import { referenceTo } from './subject.ts'

const optional = Type.Optional
const fields = <F extends Type.TProperties>(properties: F) =>
  Type.Object(properties, { additionalProperties: false, minProperties: 1 })
const Text = Type.String({ minLength: 1, maxLength: bodyLimits.textLength })

const SCHEMAS = {
  task_approval: fields({
    name: optional(Type.String({ minLength: 1, maxLength: bodyLimits.taskNameLength })),
    description: optional(Type.String({ maxLength: kernelLimits.payloadLength })),
    priority: optional(Type.Enum([...TASK_PRIORITIES])),
    resource_estimate: optional(
      Type.Object(
        {
          tokens: optional(Type.Integer({ minimum: 0 })),
          wall_time: optional(Type.Integer({ minimum: 1 })),
          cost: optional(Type.Number({ minimum: 0 })),
        },
        { additionalProperties: false },
      ),
    ),
  }),
  workspace_create: fields({
    budget: optional(Budget),
    priority: optional(Type.Enum([...WORKSPACE_PRIORITIES])),
    visibility: optional(Type.Array(Type.String(), { maxItems: kernelLimits.creationList })),
  }),
  envelope_delivery: fields({ payload: PayloadSchema }),
  integration: fields({ strategy: Type.Enum([...INTEGRATION_STRATEGIES]) }),
  conflict_resolution: fields({
    strategy: optional(Type.Enum([...RESOLUTION_STRATEGIES])),
    resolution: optional(Text),
  }),
  workspace_abort: fields({ reason: Text }),
}

export const MODIFIABLE = Object.fromEntries(
  Object.entries(SCHEMAS).map(([type, schema]) => [type, Object.keys(schema.properties)]),
) as unknown as { readonly [Type in GateType]: readonly string[] }

const validators = Object.fromEntries(
  Object.entries(SCHEMAS).map(([type, schema]) => [type, compile(schema, { name: 'modifications' })]),
) as unknown as {
  readonly [Type in GateType]: ReturnType<typeof compile<(typeof SCHEMAS)[Type]>>
}

/** The changes as the entry records them; texts and payloads are stored and referred to (W-TRAIL-32). */
export function changesTo(
  batch: Batch,
  { type, paused }: Gate,
  modifications: unknown,
  user: string,
): Result<GateModifications> {
  const fits = validators[type].check(modifications)
  if (!fits.ok) return notAllowed(fits.error.message)
  const changes = fits.value as Record<string, unknown>
  if (paused.type === 'integration' && paused.mode === 'salvage')
    return notAllowed('what a failed workspace left is always evaluated.')
  if (paused.type === 'task_approval') return ok(taskChanges(batch, changes))
  if (paused.type === 'envelope_delivery')
    return envelopeChanges(batch, paused, (changes as { readonly payload: PayloadDraft }).payload)
  if (paused.type === 'conflict_resolution' && changes.strategy === 'escalate')
    return notAllowed("'escalate' asks a human; it is no answer of one.")
  // The ordinary operation on a sheet of its own: what it would refuse, the change may not ask for.
  const sheet = new Batch(batch.run, batch.context)
  const tried = carryOut(sheet, paused, { action: 'modify', actor: user, modifications: changes })
  batch.lacks ??= sheet.lacks
  return tried.ok ? ok(changes) : notAllowed(tried.error.message)
}

function taskChanges(batch: Batch, changes: Record<string, unknown>): GateModifications {
  const { description, ...rest } = changes
  if (description === undefined) return rest
  const id = batch.newId<ObjectId>('obj')
  const text = { description }
  batch.store('task', id, text)
  return { ...rest, description: referenceTo('task', id, text) }
}

/** The envelope keeps its id, and its original stays where it is; the proof is renewed (W-ENV-01). */
function envelopeChanges(
  batch: Batch,
  { envelope }: Extract<Paused, { readonly type: 'envelope_delivery' }>,
  payload: PayloadDraft,
): Result<GateModifications> {
  const record = batch.run.envelopes.get(envelope)?.record
  if (!record) return notAllowed(`The envelope ${envelope} is not on its way any more.`)
  const { to, type } = record
  const draft = structured(batch, knownWorkspace(batch.run, record.from), { to, type, payload })
  if ('reason' in draft) return notAllowed(draft.message)
  const changed: EnvelopeRecord = sealed(batch, {
    ...record,
    payload: { ...draft.payload, attachments: draft.payload.attachments ?? [] },
  })
  const id = batch.newId<ObjectId>('obj')
  batch.store('envelope', id, changed, { of: 'mail', from: changed.from, to: changed.to })
  return ok({ payload: referenceTo('envelope', id, changed) })
}

function notAllowed(message: string): Refusal {
  return invalidArgument(`This cannot be changed so: ${message}`, 'modification_not_allowed')
}
