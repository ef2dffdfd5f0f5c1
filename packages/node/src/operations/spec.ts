// What all operations share: who may call them, the codes that they refuse with, and how a refusal of the inside
// becomes one of the call protocol. A code stays what it is.
import {
  type AccessControl,
  CallError,
  type Operation,
  type OperationError,
  type OperationType,
  operation,
} from '@parley/call'
import { ParleyError, type Principal, type Result, type RunId, type Static, type TSchema, Type } from '@parley/core'
import { agentKinds } from '../agents/kinds.ts'
import { OWNER_SCOPE, WORKSPACE_SCOPE } from '../identity.ts'
import { nodeLimits } from '../limits.ts'
import { object } from '../object.ts'
import type { OperationDeps } from './deps.ts'

export const forOwner = { requiredScopes: [OWNER_SCOPE] } as const
export const forWorkspace = { requiredScopesAny: [WORKSPACE_SCOPE, OWNER_SCOPE] } as const

/** Text of at least one character. */
export const text = (maxLength: number, description?: string) =>
  Type.String({ minLength: 1, maxLength, ...(description !== undefined && { description }) })

export const Nothing = object({})
export const Count = Type.Integer({ minimum: 0 })
export const count = (description: string) => Type.Integer({ minimum: 0, description })
export const orNull = <T extends TSchema>(type: T, description?: string) =>
  Type.Union([type, Type.Null()], description === undefined ? {} : { description })
export const RunText = text(64, 'The id of a run, a beginning or end of it if that is unique, or `last`')
export const Task = text(160, 'A task of the plan, or a workspace')
export const Reason = text(nodeLimits.reasonLength)
export const TeamText = object({
  text: Type.String({ maxLength: nodeLimits.teamText }),
  file: text(nodeLimits.pathLength, 'Absolute path'),
})
export const SearchPath = Type.String({
  maxLength: nodeLimits.environmentLength,
  description: 'PATH of the caller; the node’s own without it',
})

const REFUSALS = {
  not_found: 'Not found',
  ambiguous: 'Several fit; the details list some',
  invalid_argument: 'The request is not valid',
  invalid_project: 'The project’s folder cannot be used',
  invalid_state: 'Too late or too early for this',
  invalid_team: 'The team file has mistakes; the details list each with its place',
  invalid_query: 'The query is not valid',
  nothing_to_salvage: 'The task left nothing that was kept',
  nothing_to_apply: 'The run changed nothing',
  not_applied: 'There is nothing to take back',
  unconfirmed: 'The result changes files that other programs run; the details list them. Agree with `accept`',
  dirty_overlap: 'Files that would be written have uncommitted changes; the details list them',
  ignored_overlap: 'Files that git ignores would be overwritten; the details list them',
  hidden_overlap:
    'Files that would be written have changes that git was told not to look at (skip-worktree, assume-unchanged); the details list them',
  merge_conflict: 'Both sides have changed the same; the details list the files',
  other_repository: 'The checkout belongs to another repository',
  not_a_repository: 'The folder is in no git repository',
  no_repository: 'The project of the run is no git repository; the message says where the result is',
  bare_repository: 'The folder has no files checked out',
  repository_empty: 'The branch has no commit yet',
  repository_busy: 'The checkout is in the middle of a merge, rebase or the like',
  repository_moved: 'The branch moved on meanwhile; nothing was changed',
  repository_locked: 'Another git program is at work there',
  repository_not_trusted: 'Git does not trust this repository',
  detached_head: 'No branch is checked out',
  no_identity: 'Git does not know who commits',
  git_failed: 'Git failed; the message has its words',
  no_files: 'The run works without a project, so that there are no files',
  work_gone: 'The files of this work are not on this machine any more',
  unknown_agent: 'There is no agent of this name',
  no_agent: 'No agent is named, and there is no default',
  invalid_agent: 'The settings of an agent are not valid',
  no_workspace: 'The caller is not the agent of a turn',
  permission_denied: 'The caller may not do this',
  passphrase_required: 'Answers need the passphrase of this profile',
  passphrase_wrong: 'This is not the passphrase of this profile',
  passphrase_locked: 'Too many wrong passphrases; the details say when it can be tried again',
  invalid_config: 'config.yaml has mistakes; the details list each with its place',
  tokens_unreadable: 'The file with the tokens cannot be read; no token works',
  profile_unusable: 'A file of the profile cannot be written',
  rejected: 'The message cannot go there; the details say why',
  breaker_open: 'Too many runs of this kind were started; the message says what to do',
  ledger_unavailable: 'The daily ledger cannot be read, and there is a cap that needs it',
  budget_exceeded: 'The profile may spend no more today; the details say when that changes',
  machine_fault: 'The machine has no room, files or memory, or its disk cannot be written; nothing was started',
  limit_reached: 'There are as many of these already as there may be',
  overloaded: 'Too much is going on; ask again later',
  too_many_runs: 'The caller has as many runs at work as one may have; the details say how many',
  unavailable: 'The node is stopping',
  trail_unavailable: 'The trail cannot be written or read',
  trail_full: 'The disk has no space left',
  not_signed: 'The record is not signed',
  file_not_found: 'There is no such file',
  file_unreadable: 'The file cannot be read',
  not_an_export: 'The file is not an exported run',
  export_version: 'The file has a format that this version does not read',
  export_unreadable: 'Not even the header of the file can be read',
  export_damaged: 'The file is not sound; nothing was imported',
  export_untrusted: 'No key is trusted that could have made the file',
  import_running: 'This run is being imported already',
  import_unfinished: 'The run is imported, and can be read after the next start',
  run_exists: 'A run of this name is here, up to another entry',
  replica_unavailable: 'The second copy of the cold tier cannot be used; nothing was removed',
  trail_damaged: 'Something on the trail is not as it was written',
  archive_unreadable: 'An archive that holds some of it is missing or damaged; restore it from the replica',
  blob_missing: 'Content that it refers to is missing',
  content_damaged: 'Content that it refers to is not as it was written',
  content_key_missing: 'Its content is sealed, and this profile does not have the key',
  unknown_token: 'There is no token with this id',
  unknown_peer: 'Nobody is pinned under this name',
  invalid_peer: 'The entry of a peer is not valid',
  peer_exists: 'This name or key is pinned already',
  too_many_peers: 'The list of peers is full',
  peers_unreadable: 'The list of peers cannot be changed safely; correct it in an editor',
  locked: 'Another process is changing the list of peers',
  bad_invitation: 'This is not an invitation',
  kb_refused: 'ALX refused it; the details have its code',
  key_unusable: 'The profile’s key is missing or cannot be used',
  link_off: 'ALP is switched off in this profile',
  link_bad_address: 'This is not the address of a peer',
  link_bad_identity: 'The pinned key is not a public key',
  'target-offline': 'The peer cannot be reached',
  link_handshake_failed: 'The peer’s key does not match the pinned key',
  link_handshake_timeout: 'The other side did not finish the handshake in time',
  link_empty_response: 'The peer was silent: this profile is not pinned there, or the clocks differ',
  link_timeout: 'The peer did not answer in time',
  link_bad_response: 'The peer’s answer cannot be understood',
  link_too_large: 'The message is larger than the peer takes',
  link_cancelled: 'The request was given up',
  peer_refused: 'The peer said no; the details have its code, message and data',
} as const
export type RefusalCode = keyof typeof REFUSALS

/** What the trail itself refuses. */
export const TRAIL = ['trail_unavailable', 'trail_damaged'] as const

/** What keeps a run from being read. */
export const UNREADABLE = [
  ...TRAIL,
  'archive_unreadable',
  'blob_missing',
  'content_damaged',
  'content_key_missing',
] as const satisfies readonly RefusalCode[]

/** Finding what is meant. */
export const FOUND = ['not_found', 'ambiguous'] as const

/** What a person does, and does to a run. */
export const CHANGE = ['invalid_state', 'invalid_argument', 'permission_denied', ...TRAIL] as const
export const ACT = [...FOUND, ...CHANGE] as const

interface Described<Input extends TSchema, Output extends TSchema, Handle> {
  readonly description: string
  readonly input: Input
  readonly output: Output
  readonly refuses?: readonly (RefusalCode | OperationError)[]
  /** The owner by default. */
  readonly access?: AccessControl
  readonly handle: Handle
}

/** What a handler answers with need not be its caller's to change. */
type Frozen<T> = unknown extends T
  ? T
  : T extends string | number | boolean | null
    ? T
    : T extends readonly (infer Each)[]
      ? readonly Frozen<Each>[]
      : { readonly [Key in keyof T]: Frozen<T[Key]> }

type OperationContext = Parameters<Parameters<typeof operation<'query', TSchema, TSchema>>[1]>[1]
type Asked<Input extends TSchema, Answer> = (input: Static<Input>, context: OperationContext) => Answer
type Answering<Input extends TSchema, Output extends TSchema> = Asked<
  Input,
  Frozen<Static<Output>> | PromiseLike<Frozen<Static<Output>>>
>

function described<Type extends OperationType, Input extends TSchema, Output extends TSchema, Handle>(
  opType: Type,
  { description, input, output, refuses, access = forOwner, handle }: Described<Input, Output, Handle>,
): Operation<Type, Input, Output> {
  const errorSchemas = refuses?.map(each => (typeof each === 'string' ? refusal(each, REFUSALS[each]) : each))
  const spec = { opType, description, inputSchema: input, outputSchema: output, accessControl: access }
  return operation({ ...spec, ...(errorSchemas && { errorSchemas }) }, handle as never)
}

/** An operation of the owner that changes nothing. */
export function query<Input extends TSchema, Output extends TSchema>(
  given: Described<Input, Output, Answering<Input, Output>>,
): Operation<'query', Input, Output> {
  return described('query', given)
}

export function mutation<Input extends TSchema, Output extends TSchema>(
  given: Described<Input, Output, Answering<Input, Output>>,
): Operation<'mutation', Input, Output> {
  return described('mutation', given)
}

export function subscription<Input extends TSchema, Output extends TSchema>(
  given: Described<Input, Output, Asked<Input, AsyncIterable<Frozen<Static<Output>>>>>,
): Operation<'subscription', Input, Output> {
  return described('subscription', given)
}

function refusal(code: string, description: string): OperationError {
  return { code, description, schema: Type.Object({}) }
}

/** Every operation here needs a scope, so there is a caller. */
export function caller(identity: Principal | undefined): Principal {
  if (identity) return identity
  throw new TypeError('an operation that needs a scope was called by nobody')
}

/** Of runs whose agents lack what they work with. */
export const ABSENCES: readonly OperationError[] = agentKinds.map(({ absence: { code, description } }) =>
  refusal(code, description),
)

/** The value of a result, or its refusal thrown as what callers get. */
export function answered<T>(result: Result<T>): T {
  if (result.ok) return result.value
  throw callError(result.error)
}

/** A refusal with its code, message and details; a defect stays what it is, and callers see `INTERNAL`. */
export function callError(thrown: unknown): unknown {
  const system = systemErrorOf(thrown)
  if (system) {
    const message = `The files of the profile cannot be used: ${system.message}. The node's log may say more.`
    return new CallError('trail_unavailable', message, { retryable: true, details: { system: system.code } })
  }
  if (!(thrown instanceof ParleyError) || thrown.code === 'internal') return thrown
  const { code, message, retryable, details } = thrown
  return new CallError(code, message, { retryable, details })
}

/** What the system refused, as it was thrown or as the cause of what nobody has a code for. */
function systemErrorOf(thrown: unknown): NodeJS.ErrnoException | undefined {
  const cause = thrown instanceof ParleyError && thrown.code === 'internal' ? thrown.cause : thrown
  return cause instanceof Error && 'syscall' in cause ? (cause as NodeJS.ErrnoException) : undefined
}

/** What was asked of the inside, with errors that callers understand: what is thrown there need not be a defect. */
export async function told<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (thrown) {
    throw callError(thrown)
  }
}

/** The value of what was asked of the inside, or its refusal as callers get it. */
export async function answerOf<T>(work: Promise<Result<T>>): Promise<T> {
  return answered(await told(work))
}

/** The same values, with errors that callers understand. */
export async function* streamed<T>(values: AsyncIterable<T>): AsyncGenerator<T> {
  try {
    yield* values
  } catch (thrown) {
    throw callError(thrown)
  }
}

/** As the coordinator finds a run; those that it does not know, such as the house run, by their whole id. */
export async function findRun(
  text: string,
  { coordinator, trail }: Pick<OperationDeps, 'coordinator' | 'trail'>,
): Promise<RunId> {
  const known = await told(coordinator.runs.find(text))
  if (known.ok || known.error.code !== 'not_found') return answered(known)
  const summary = (await told(trail.runs())).find(({ run }) => run === text)
  return summary ? summary.run : answered(known)
}
