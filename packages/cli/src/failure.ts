// What goes wrong, for people (what happened, why, what to do next) and for programs (code, message, details).
import { CallError } from '@parley/call'
import { asParleyError, ParleyError, shortId, shortIds } from '@parley/core'
import { EXIT, type ExitCode, exitCodeOf } from './exit.ts'
import { everyField } from './guide.ts'
import type { Paint } from './render/paint.ts'
import { hanging, lines, oneLine, wrapLines } from './render/text.ts'

export interface FailureOptions {
  readonly why?: string | undefined
  readonly next?: string | readonly string[] | undefined
  /** Of a command line that is wrong: what it should look like. */
  readonly usage?: string | undefined
  readonly details?: Readonly<Record<string, unknown>>
  /** Shown verbatim, for example places in a file. */
  readonly excerpt?: string | undefined
  readonly cause?: unknown
}

/** Thrown by commands; `main` shows it and ends with the code's exit code. */
export class Failure extends ParleyError {
  readonly why: string | undefined
  readonly next: readonly string[]
  readonly usage: string | undefined
  readonly excerpt: string | undefined

  constructor(code: string, what: string, options: FailureOptions = {}) {
    super(code, what, {
      ...(options.details && { details: { ...options.details } }),
      ...('cause' in options && { cause: options.cause }),
    })
    this.why = options.why
    this.next = options.next === undefined ? [] : typeof options.next === 'string' ? [options.next] : options.next
    this.usage = options.usage
    this.excerpt = options.excerpt
  }

  get exitCode(): ExitCode {
    return exitCodeOf(this.code)
  }
}

/** What helps in general against what has this code. What the error itself says comes first. */
export function adviceFor(code: string): { readonly why?: string; readonly next?: string } {
  return {
    ...(Object.hasOwn(WHY, code) && { why: WHY[code]! }),
    ...(Object.hasOwn(NEXT, code) && { next: NEXT[code]! }),
  }
}

const LOOK_AT_KEY = '`parley doctor` checks the key of this profile.'
const AFTER_A_RUN = 'Try again when a run has ended: `parley runs --state working`.'
const DEFECT = 'This is a defect in Parley, not in what you did.'

const WHY: Readonly<Record<string, string>> = {
  NOT_FOUND: 'The node does not know this operation; it may be another version.',
  UNAVAILABLE: 'Nothing answers at the socket of this profile. Nothing was executed.',
  TIMEOUT: 'The node did not answer in time. It may still carry out the request.',
  connection_lost:
    'The connection to the node was lost. The request may or may not have been carried out. Runs continue when a node is running.',
  FORBIDDEN: 'PARLEY_TOKEN_FILE is set: inside a workspace only `parley ws` may be used.',
  locked: 'Another program is changing the list of peers.',
  link_off: '`service.alp` is false in the config.yaml of this profile.',
  internal: DEFECT,
  INTERNAL: DEFECT,
}

const NEXT: Readonly<Record<string, string>> = {
  not_found: '`parley runs` and `parley gates` list what exists.',
  NOT_FOUND: '`parley doctor` compares the versions.',
  UNAVAILABLE:
    '`parley doctor` says what is wrong; `parley up` runs a node in the foreground, where you can read its messages.',
  node_unreachable: '`parley doctor` says what is wrong.',
  node_not_running: '`parley up` starts it.',
  node_start_failed:
    '`parley doctor` says what is wrong; `parley up` runs it in the foreground, where you can read its messages.',
  version_mismatch: 'Let the node finish its work, then start it again with this version: `parley down`, `parley up`.',
  TIMEOUT: '`parley runs` shows the result.',
  connection_lost: '`parley runs` shows the result.',
  FORBIDDEN: 'Leave it to the person who owns the run.',
  passphrase_required: 'You are asked for it on a terminal; a program passes it with --passphrase-stdin.',
  passphrase_wrong: '`parley passphrase` changes it, if you know the current one.',
  permission_denied: 'Leave it to the person who owns the run.',
  invalid_state: '`parley show` shows the state of the run.',
  no_agent: '`parley init` writes a team file; `parley agents` lists the agents.',
  invalid_project: 'Name the folder of a project with --project.',
  invalid_team: `Fix the places above.${everyField()}`,
  invalid_config: 'Fix the places above. Until then no node starts, and `parley config` does not work.',
  invalid_profile: 'Give another name with --profile, or none for the profile `default`.',
  profile_unusable: '`parley doctor` says what is wrong with it.',
  ambiguous: 'Name one of them. Nothing was changed.',
  unknown_agent: '`parley agents` lists the agents.',
  work_gone: '`parley show` says what is known of its result; a branch of the run may still be in the project.',
  nothing_to_apply: '`parley show` says what was done.',
  not_applied: '`parley show` says where a result was applied.',
  unconfirmed: 'Look at it with `parley diff`; --yes agrees to it.',
  dirty_overlap:
    'Commit them, or put them aside (in a repository with `git stash --include-untracked`), then try again.',
  ignored_overlap: 'Move it away, or put it aside with `git stash push --all -- FILE`, then try again.',
  hidden_overlap:
    'Show them to git with `git update-index --no-skip-worktree FILE` and `git update-index --no-assume-unchanged FILE`, then commit them or put them aside.',
  merge_conflict:
    'Merge the branch of the run by hand with `git merge`, or let a new run start from the present state.',
  other_repository: 'Go to the project of the run: `parley show` names it.',
  not_a_repository: 'Go to the project of the run: `parley show` names it.',
  no_repository: 'Use it without --merge and --patch.',
  bare_repository: 'Go to a checkout of it: `git worktree add` makes one.',
  repository_empty: 'Make a first commit, or switch to a branch that has one.',
  detached_head: 'Switch to a branch first, `git switch -c NAME`; `parley apply --patch` needs none.',
  repository_moved: 'Try again.',
  repository_locked: 'Try again when the other git program has ended.',
  nothing_to_salvage: '`parley show` says what was done; only checkpoints can be recovered.',
  profile_in_use: 'Use the running node, or another profile with --profile.',
  program_missing: '`parley agents` shows which are installed.',
  trail_damaged: '`parley trail verify` shows where; other runs are not affected.',
  replica_unavailable: '`parley doctor` checks it; nothing was removed.',
  export_damaged:
    "`parley trail verify --file` lists everything that is wrong. Ask for the file again, and for its author's public key.",
  export_untrusted:
    'Compare the fingerprint with its maker over another channel, then give the key with --key or --key-file; `parley trail keys` shows it on the machine that the file comes from.',
  run_exists: '`parley trail verify --file` and `parley trail verify RUN` show how far each one goes.',
  not_an_export: '`parley trail export RUN --output FILE` writes one.',
  unknown_token: '`parley token` lists them.',
  unknown_peer: '`parley peers` lists the pinned peers; `parley peers pending` lists strangers who called.',
  peer_exists: '`parley peers` lists the pinned peers; `parley peers remove` unpins one.',
  invalid_peer: '`parley help peers add` has examples.',
  bad_invitation: 'Ask for the line from `parley id` again, and copy all of it.',
  too_many_peers: '`parley peers remove` makes room.',
  peers_unreadable: 'Fix alp/peers.yaml in the profile with an editor; `parley doctor` names its folder.',
  locked: 'Try again in a moment.',
  key_unusable: LOOK_AT_KEY,
  key_missing: LOOK_AT_KEY,
  key_mismatch: LOOK_AT_KEY,
  key_retired: LOOK_AT_KEY,
  link_off: 'Set it to true, or remove it, and start the node again.',
  machine_fault:
    'Free some space, or fix what the message names; `parley doctor` checks it. The node then continues automatically.',
  overloaded: AFTER_A_RUN,
  too_many_runs: AFTER_A_RUN,
  trail_unavailable: '`parley doctor` checks the disk and the trail.',
  internal: '`parley doctor` may tell you more; logs/node.log in the profile has the details.',
  INTERNAL: 'logs/node.log in the profile has the details.',
}

export function asFailure(thrown: unknown): Failure {
  if (thrown instanceof Failure) return thrown
  if (thrown instanceof CallError) return fromCall(thrown)
  const error = asParleyError(thrown)
  return advised(error.code, error.message, error.details, thrown)
}

export function wrongUsage(what: string, usage: string, hint?: string): Failure {
  return new Failure('usage', what, { next: hint, usage })
}

function fromCall(error: CallError): Failure {
  const lost = error.code === 'INTERNAL' && error.message === 'connection closed'
  return advised(
    lost ? 'connection_lost' : error.code,
    lost ? 'The node is gone.' : error.message,
    isRecord(error.details) ? error.details : {},
    error,
  )
}

function advised(code: string, what: string, details: Readonly<Record<string, unknown>>, cause: unknown): Failure {
  const branch = code === 'merge_conflict' && typeof details.branch === 'string' ? details.branch : undefined
  const advice = branch === undefined ? adviceFor(code) : { next: byHand(branch) }
  const excerpt = typeof details.excerpt === 'string' ? details.excerpt : undefined
  return new Failure(code, what, { details, cause, ...advice, excerpt })
}

function byHand(branch: string): string {
  return `\`git merge ${oneLine(branch)}\` lets you settle it by hand; or let a new run start from the present state.`
}

/** Messages of errors that others wrote may have several lines. */
export function failureLines(
  failure: Failure,
  paint: Paint,
  width: number = Number.POSITIVE_INFINITY,
): readonly string[] {
  const places = failure.excerpt ? lines(failure.excerpt) : problemLines(failure.details.problems)
  const [what = failure.code, ...rest] = lines(withShortIds(places.length > 0 ? headOf(failure) : failure.message))
  const said = [...rest, ...places, ...listed(failure)].map(line => `  ${line}`.trimEnd())
  return [
    ...hanging(`${paint('bad', 'parley:')} `, what, width, true),
    ...wrapLines(said, width),
    ...(failure.usage ? hanging('  usage: ', failure.usage, width) : []),
    ...(failure.why ? hanging('  why:  ', oneLine(failure.why), width, true) : []),
    ...failure.next.flatMap(each => hanging('  next: ', oneLine(each), width, true)),
    ...(failure.exitCode === EXIT.defect && failure.cause instanceof Error && failure.cause.stack
      ? lines(failure.cause.stack).map(line => paint('quiet', `  ${line}`))
      : []),
  ]
}

/** As lists show them. What stands in quotes was typed so. */
function withShortIds(message: string): string {
  return message.replaceAll(/(?<!['\w/])(run|gate|sig)_[0-9a-z]{26}\b(?!\/)/g, id => shortId(id))
}

/** The message of an error with places tells the first of them, which is listed below with the others. */
function headOf({ message }: Failure): string {
  return /^.{0,300}? cannot be used\.(?= )/.exec(message)?.[0] ?? message
}

/** The candidates for an ambiguous id, with what each is about if that is known, or the files that are in the way. */
function listed({ code, details }: Failure): readonly string[] {
  if (code !== 'ambiguous') return texts(details.files).map(oneLine)
  const ids = texts(details.runs ?? details.gates)
  const about = texts(details.questions)
  const short = shortIds(ids)
  return ids.map((id, index) => [short(id), withShortIds(about[index] ?? '')].map(oneLine).join('  ').trimEnd())
}

function texts(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter(each => typeof each === 'string') : []
}

/** Where a team file or configuration is wrong. */
function problemLines(problems: unknown): readonly string[] {
  if (!Array.isArray(problems)) return []
  return problems.filter(isRecord).map(({ line, column, message, source }) => {
    const place = [source, line, column].filter(each => each !== undefined).join(':')
    return oneLine(`${place}${place ? ': ' : ''}${String(message)}`)
  })
}

export function failureJson(failure: Failure): string {
  const { code, message, details, usage, why, next } = failure
  return JSON.stringify({
    error: { code, message, details, ...(usage && { usage }), ...(why && { why }), ...(next.length > 0 && { next }) },
  })
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
