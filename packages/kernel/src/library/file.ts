// Filing a record in the library: what a person asks (an injection), its delivery to the root, and what the library's
// worker makes of it (a checkpoint), all in one batch. So there is no half of a record, whatever fails.
import { createHash } from 'node:crypto'
import {
  canonicalize,
  invariant,
  type LibraryRecordType,
  ok,
  type Result,
  type RunId,
  type Timestamp,
} from '@parley/core'
import { bodyLimits } from '@parley/trail/events'
import { type Batch, clip } from '../batch.ts'
import { writeCheckpoint } from '../checkpoint/decide.ts'
import type { UserCommand } from '../command.ts'
import { writeReceipt } from '../envelope/deliver.ts'
import { mailLimit } from '../envelope/send.ts'
import { writeInjected } from '../highway/inject.ts'
import { STATE_RULES } from '../lifecycle/states.ts'
import { kernelLimits } from '../limits.ts'
import { invalidState, limitReached, type Refusal } from '../refusal.ts'
import { type Run, rootOf } from '../run/run.ts'
import { LIBRARY_ROLE } from '../taxonomy/parley.ts'
import { authorizeUser } from '../user/authorize.ts'
import { openChildren, type Workspace } from '../workspace/workspace.ts'

/** `content`: canonical JSON. */
export interface Filing {
  readonly record: LibraryRecordType
  readonly content: string
}

/** Where it stands: the entry that is the record. */
export interface Filed {
  readonly run: RunId
  readonly seq: number
  readonly timestamp: Timestamp
}

/** What is asked for and made. Of every other type the request itself is the record, unless the node makes it. */
const MADE: ReadonlySet<LibraryRecordType> = new Set(['knowledge_block', 'settlement'])

export function isMade(type: LibraryRecordType): boolean {
  return MADE.has(type)
}

/** The checkpoint's payload: the content once, and for whom by which request. */
export interface LibraryPayload {
  readonly by: string
  readonly content: string
  readonly request?: string
}

export function decideFile(batch: Batch, user: string | undefined, { record, content }: Filing): Result<Filed> {
  const { run } = batch
  if (!run.library) return invalidState('Records are filed in the library run, and in no other.')
  const root = rootOf(run)
  const worker = libraryWorker(run)
  if (root.status !== 'active' || !worker) return invalidState('The library run takes no records now.')
  // All that could refuse the result comes before the request: nothing is asked for that is not made.
  if (run.checkpoints.size >= kernelLimits.checkpoints)
    return limitReached('checkpoints in one run', kernelLimits.checkpoints)
  if (user === undefined) return ok(writeMade(batch, worker, { record, content }, { by: 'system' }))
  const full = mailLimit(run)
  if (full) return full
  // AMB-64: the root is everybody's, or nobody could ask for anything.
  const any = 'inject_directive_any'
  const denied = authorizeUser(batch, user, {
    action: `file:${record}`,
    own: 'inject_directive',
    any,
    target: root.id,
    owned: true,
  })
  if (denied) return denied

  const place = placeOf(batch)
  const made = isMade(record)
  // The content stands once: the request for what is made names it by its hash.
  const asked = made ? canonicalize({ sha256: createHash('sha256').update(content).digest('hex') }) : content
  const sent = writeInjected(batch, user, {
    to: root.id,
    type: record,
    payload: { format: 'json', content: asked },
  })
  if (!sent.ok) return sent
  const { envelope } = sent.value
  writeRead(batch, root, envelope)
  return ok(made ? writeMade(batch, worker, { record, content }, { by: user, request: envelope }) : place)
}

/** The root is the node, which reads it here and now: nothing travels, and nothing waits in an inbox. */
function writeRead(batch: Batch, root: Workspace, id: Parameters<typeof writeReceipt>[1]['id']): void {
  const mail = { id, from: root.id, to: root.id }
  batch.add('envelope_delivered', root, 'protocol', {
    envelope_id: id,
    from: mail.from,
    to: mail.to,
    delivered_at: batch.at,
  })
  writeReceipt(batch, mail, root)
}

function writeMade(
  batch: Batch,
  worker: Workspace,
  { record, content }: Filing,
  about: Omit<LibraryPayload, 'content'>,
): Filed {
  const place = placeOf(batch)
  const payload = { ...about, content } satisfies LibraryPayload
  const draft = { type: record, payload, intent: record, status: 'provisional', confidence: 'high' } as const
  writeCheckpoint(batch, worker, draft, worker.register?.at(-1) ?? null)
  return place
}

/** Of the entry that is written next. */
function placeOf({ run, entries, at }: Batch): Filed {
  return { run: run.id, seq: run.seq + entries.length + 1, timestamp: at }
}

export function libraryWorker(run: Run): Workspace | undefined {
  const { root } = run
  invariant(run.library, 'only the library has a library worker')
  return root && openChildren(root).find(({ role, status }) => role === LIBRARY_ROLE && STATE_RULES[status].checkpoints)
}

/** Nobody directs, stops or owns the library: it takes records, and everything else is denied, on record. */
export function denyInLibrary(batch: Batch, { user, type }: UserCommand): Refusal {
  return batch.denyUser(user, {
    capability: 'library',
    action: clip(type, bodyLimits.nameLength),
    target: rootOf(batch.run).id,
    reason: 'permission_denied',
    message: 'The library run takes records only; nobody directs it.',
  })
}
