// The proof chain of one recorded act (W-SEC-17), each step checked anew from what is stored.
import { asParleyError, type EntryId, err, ok, type Result, type RunId, unwrap, type WorkspaceId } from '@parley/core'
import type { Entry, EntryProof, ReadableRun, RunModel } from '@parley/trail'
import { type EventBody, type EventType, RESERVED_ACTORS } from '@parley/trail/events'
import { notFound } from '../refusal.ts'
import { actingWorkspace, found } from './acting.ts'
import { messageOf } from './message-proof.ts'
import type { Proofs } from './proofs.ts'

/** `none`: an act of this kind has nothing of the sort. `missing`: it should have, and has not. */
type ProofStatus = 'verified' | 'failed' | 'missing' | 'none'

export interface ProofStep {
  readonly status: ProofStatus
  readonly detail: string
}

/** Which entry binds the name: an agent's creation or newest migration, a person's newest login. */
interface IdentityStep extends ProofStep {
  readonly name: string | null
  readonly run: RunId | null
  readonly entry: EntryId | null
}

type ProofParty = 'agent' | 'coordinator' | 'human' | 'runtime'

export interface ProofReport {
  readonly run: RunId
  readonly entry: EntryId
  readonly seq: number
  readonly event_type: EventType
  readonly workspace: WorkspaceId | null
  readonly actor: string
  readonly party: ProofParty
  readonly identity: IdentityStep
  readonly message: ProofStep
  readonly link: ProofStep & { readonly hash: string; readonly previous: string | null }
  readonly signature: ProofStep & { readonly signer: string | null }
  readonly complete: boolean
}

interface ProofSource {
  readonly trail: ReadableRun
  readonly proofs: Proofs | undefined
  houses(): Promise<readonly ReadableRun[]>
}

/** `which`: the id of an entry, or its `seq`, which is found faster. */
export async function proofReport(source: ProofSource, which: EntryId | number): Promise<Result<ProofReport>> {
  try {
    const seq = typeof which === 'number' ? which : await seqOf(source.trail, which)
    const proof = seq === undefined ? undefined : await source.trail.prove(seq)
    return proof ? ok(await reportOn(source, proof)) : notFound('entry', String(which))
  } catch (cause) {
    return err(asParleyError(cause))
  }
}

async function reportOn(source: ProofSource, proof: EntryProof): Promise<ProofReport> {
  const { entry } = proof
  const model = await source.trail.model()
  const party = partyOf(entry, model)
  const [identity, message] = await Promise.all([identityOf(source, entry, party, model), messageOf(source, entry)])
  const link = { ...linkOf(proof), hash: entry.integrity.entry_hash, previous: proof.previous }
  const signature = { ...signatureOf(proof), signer: entry.integrity.signer ?? null }
  const steps: readonly ProofStep[] = [identity, message, link, signature]
  return {
    run: source.trail.id,
    entry: entry.id,
    seq: entry.seq,
    event_type: entry.event_type,
    workspace: entry.workspace,
    actor: entry.actor,
    party,
    identity,
    message,
    link,
    signature,
    complete: steps.every(({ status }) => status === 'verified' || status === 'none'),
  }
}

/** Ids say nothing about order, so the run is looked through. */
async function seqOf(trail: ReadableRun, id: EntryId): Promise<number | undefined> {
  let after = 0
  for (;;) {
    const { entries, more, cursor } = unwrap(await trail.query({ after }))
    const entry = entries.find(each => each.id === id)
    if (entry || !more) return entry?.seq
    after = cursor
  }
}

/** W-TRAIL-02 */
function partyOf({ actor }: Entry, model: RunModel): ProofParty {
  if (actor === 'system') return 'coordinator'
  if ((RESERVED_ACTORS as readonly string[]).includes(actor)) return 'runtime'
  return [...model.workspaces.values()].some(({ role }) => role === actor) ? 'agent' : 'human'
}

function linkOf({ findings }: EntryProof): ProofStep {
  const broken = findings.find(({ damage }) => damage !== 'signature')
  if (broken) return { status: 'failed', detail: broken.message }
  return { status: 'verified', detail: 'The entry has its hash, and follows the entries before it in both chains.' }
}

function signatureOf({ entry, findings }: EntryProof): ProofStep {
  const [wrong] = findings
  if (wrong?.violation === 'proof_missing') return { status: 'missing', detail: wrong.message }
  if (wrong) return { status: 'failed', detail: wrong.message }
  if (entry.integrity.signature === undefined) return { status: 'missing', detail: 'This trail is not signed.' }
  return { status: 'verified', detail: 'The runtime signed the hash of the entry.' }
}

async function identityOf(
  source: ProofSource,
  entry: Entry,
  party: ProofParty,
  model: RunModel,
): Promise<IdentityStep> {
  switch (party) {
    case 'human':
      return identityOfUser(source, entry)
    case 'runtime':
      return identityOfRuntime(source, entry)
    case 'coordinator':
      return identityOfAgent(source.trail, entry, model.root)
    case 'agent':
      return identityOfAgent(
        source.trail,
        entry,
        isAboutTask(entry) ? await leaderOf(source.trail, entry) : await actingWorkspace(source.trail, entry, model),
      )
  }
}

type TaskEntry = Entry & { readonly body: { readonly task_id: string } }

function isAboutTask(entry: Entry): entry is TaskEntry {
  return ['task_created', 'task_assigned', 'task_status_changed'].includes(entry.event_type)
}

/** The nearest task above (W-TASK-19) that has such a delegate; tasks themselves are filed under the root. */
async function leaderOf(
  trail: ReadableRun,
  { seq, actor, body: { task_id } }: TaskEntry,
): Promise<WorkspaceId | undefined> {
  for (let task: string | null | undefined = task_id; ; ) {
    const [made] = await found(trail, { event_type: 'task_created', body: { task_id: task }, limit: 1 })
    task = (made?.body as EventBody<'task_created'> | undefined)?.parent_task
    if (task == null) return undefined
    const bound = { event_type: 'workspace_created', body: { task_ref: task } } as const
    for (const { workspace, body } of await found(trail, { ...bound, order: 'descending', after: seq })) {
      const { role, delegate } = body as EventBody<'workspace_created'>
      if (delegate && role === actor) return workspace ?? undefined
    }
  }
}

/** W-SEC-03: bound at creation, and changed by migration alone. */
async function identityOfAgent(
  trail: ReadableRun,
  { seq }: Entry,
  workspace: WorkspaceId | undefined,
): Promise<IdentityStep> {
  if (workspace === undefined) return unbound('No workspace is on record whose agent could have done this.')
  const event_type = ['workspace_created', 'migration_completed']
  const [binding] = await found(trail, { workspace, event_type, order: 'descending', after: seq + 1, limit: 1 })
  if (!binding) return unbound(`The creation of ${workspace} is not on record.`)
  const body = binding.body as Partial<EventBody<'workspace_created'> & EventBody<'migration_completed'>>
  const name = body.new_agent ?? body.agent
  if (name === undefined) return unbound(`${workspace} was created without naming its agent.`)
  return bound(trail, binding, name, `The agent of ${workspace}.`)
}

/** It has no name but its key: the one that signed the run from its first entry on, or one that took over from that. */
async function identityOfRuntime({ trail }: ProofSource, entry: Entry): Promise<IdentityStep> {
  const genesis = await trail.prove(1)
  const { signer } = entry.integrity
  if (!genesis || signer === undefined) return unbound('This trail is not signed, so that nothing names the runtime.')
  return bound(trail, genesis.entry, signer, 'The runtime that began the run.')
}

/** W-SEC-05, -06: the newest login before the act, or else the first acceptance of the name. */
async function identityOfUser(source: ProofSource, { actor, timestamp }: Entry): Promise<IdentityStep> {
  for (const trail of await source.houses()) {
    for (const event_type of ['authentication_succeeded', 'user_created'] as const) {
      const query = { event_type, body: { user_id: actor }, to: timestamp, order: 'descending', limit: 1 } as const
      const [binding] = await found(trail, query)
      if (binding) return bound(trail, binding, actor, 'The person whom the authentication boundary accepted.')
    }
  }
  return unbound(`No entry of this node binds the name ${actor}; the host keeps its users elsewhere.`)
}

async function bound(trail: ReadableRun, binding: Entry, name: string, detail: string): Promise<IdentityStep> {
  const proof = await trail.prove(binding.seq)
  const wrong = proof?.findings[0]
  return {
    status: wrong ? 'failed' : 'verified',
    detail: wrong?.message ?? detail,
    name,
    run: trail.id,
    entry: binding.id,
  }
}

function unbound(detail: string): IdentityStep {
  return { status: 'missing', detail, name: null, run: null, entry: null }
}
