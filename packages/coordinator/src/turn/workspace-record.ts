// What a workspace keeps of its work: commits of its folder, checkpoints on the trail, files that were put back.
import { commandText } from '@parley/agents'
import { invariant, ok, type Result, unwrap, type WorkspaceId } from '@parley/core'
import { kernelLimits, type RunHandle, type Worker } from '@parley/kernel'
import { matchedText } from '../folder/files/file-name.ts'
import type { Folders } from '../folder/folders.ts'
import type { CapturedWork, ChangeKind, FileChange, RefusalReason, RefusedChange } from '../folder/model.ts'
import { coordinatorLimits } from '../limits.ts'
import { commitMessage } from '../merge/commit-message.ts'
import type { Verdict } from '../merge/verdict.ts'
import {
  FOLDER_ACTIONS,
  FOLDER_CAPABILITY,
  type FolderAction,
  type SetupRecord,
  type TurnRecord,
  type WorkPayload,
} from '../projection/projected.ts'
import type { WorkspaceFacts } from '../run/facts.ts'
import type { PlannedTask } from '../team/team.ts'
import { Inbox } from './inbox.ts'

interface Made {
  readonly status: 'final' | 'provisional'
  readonly content: string
  readonly turn: TurnRecord
  readonly captured?: CapturedWork
  readonly verdict?: Verdict
  readonly intent?: string
}

/** Repeats what the machine alone kept from succeeding, and answers with what it came to then. */
type Steadily = <T>(work: () => Promise<Result<T>>) => Promise<Result<T>>

export class WorkspaceRecord {
  readonly run: RunHandle
  readonly worker: Worker
  readonly facts: WorkspaceFacts
  readonly task: PlannedTask
  readonly inbox: Inbox
  /** The newest turn of which it is on record what it came to. */
  settled = 0
  readonly #folders: Folders
  /** Pipes, sockets and devices that are on record. */
  readonly #special = new Set<string>()
  readonly #steadily: Steadily

  constructor(
    run: RunHandle,
    worker: Worker,
    facts: WorkspaceFacts,
    task: PlannedTask,
    folders: Folders,
    steadily: Steadily,
  ) {
    this.#steadily = steadily
    this.run = run
    this.worker = worker
    this.facts = facts
    this.task = task
    this.inbox = new Inbox(run, worker)
    this.#folders = folders
  }

  get workspace(): WorkspaceId {
    return this.worker.workspace
  }

  /** The folder as it is, as a commit. What the task may not change is put back, and that is on record. */
  async capture(): Promise<Result<CapturedWork>> {
    const { facts, task } = this
    const options = {
      parent: facts.commit,
      // Who makes one of two versions may have to touch whatever either of them did.
      ...(task.paths && facts.kind === 'work' && { paths: task.paths }),
      ...(task.symlinks && { symlinks: task.symlinks }),
      message: commitMessage(task, { 'Parley-Agent': facts.agent }),
      author: facts.agent,
    }
    const captured = await this.#steadily(() => this.#folders.capture(this.workspace, options))
    if (captured.ok) await this.#recordRefused(captured.value.refused)
    return captured
  }

  async #recordRefused(refused: readonly RefusedChange[]): Promise<void> {
    const fresh = refused
      .map(({ path, kind, reason }) => ({ target: path, action: refusedAction(kind, reason) }))
      // What is not put back is found again by every capture.
      .filter(({ target, action }) => action !== 'special_file' || !this.#special.has(target))
    // Each kind has its own bound: a hundred files that were not allowed do not hide a link that leads outside.
    const told = FOLDER_ACTIONS.flatMap(action => bounded(fresh.filter(each => each.action === action)))
    if (told.length === 0) return
    const entries = told.map(({ target, action }) => ({
      event_type: 'capability_denied' as const,
      workspace: this.workspace,
      actor: 'worker',
      body: {
        user_id: null,
        capability: FOLDER_CAPABILITY,
        action,
        target,
        reason: 'containment_violation' as const,
        role: 'worker',
      },
    }))
    unwrap(await this.#steadily(() => this.run.submit({ type: 'record', entries })))
    for (const { target, action } of fresh) if (action === 'special_file') this.#special.add(target)
  }

  async checkpoint(made: Made): Promise<string> {
    return unwrap(await this.#steadily(() => this.keep(made)))
  }

  async keep({ status, content, turn, captured, verdict, intent }: Made): Promise<Result<string>> {
    const view = await this.worker.look()
    if (!view.ok) return view
    const created = await this.worker.checkpoint({
      type: 'artifact',
      payload: payloadOf(content, captured?.changed ?? [], {
        ...(captured?.commit !== undefined && { commit: captured.commit }),
        ...(captured && captured.outsideLinks.length > 0 && { outside_links: captured.outsideLinks.slice(0, most) }),
        ...(verdict && { verdict }),
        turn,
      }),
      intent: intent ?? this.task.title,
      parent: view.value.register.at(-1)?.id ?? null,
      status,
      confidence: 'medium',
      // The node's own measure; what the agent itself says of its turn is in the payload.
      resource_usage: view.value.unreported,
    })
    if (!created.ok) return created
    invariant(turn.epoch >= this.settled, 'turns of a workspace are recorded in their order')
    if (turn.outcome !== 'kept') this.settled = turn.epoch
    return ok(created.value.checkpoint)
  }

  /** That the folder was set up, before anybody worked there. */
  async setUp(setup: SetupRecord): Promise<void> {
    const text = `Set up with \`${commandText(setup.command)}\`.`
    const keep = async (): Promise<Result<unknown>> => {
      const view = await this.worker.look()
      if (!view.ok) return view
      return this.worker.checkpoint({
        type: 'artifact',
        payload: payloadOf(text, [], { setup }),
        intent: 'setup',
        parent: view.value.register.at(-1)?.id ?? null,
        status: 'provisional',
        confidence: 'high',
        resource_usage: view.value.unreported,
      })
    }
    unwrap(await this.#steadily(keep))
  }

  async started(): Promise<void> {
    unwrap(await this.#steadily(() => this.worker.started()))
  }

  async complete(): Promise<void> {
    unwrap(await this.#steadily(() => this.worker.complete()))
  }

  async failed(reason: string): Promise<void> {
    unwrap(await this.#steadily(() => this.worker.failed(reason)))
  }

  /** The agent waits for an answer to this. */
  async ask(question: string): Promise<void> {
    unwrap(await this.#steadily(() => this.worker.blocked(question)))
    // It may have asked just that during the turn, and nobody has answered yet.
    const open = await this.run.escalations()
    if (open.some(({ workspace, reason }) => workspace === this.workspace && reason === question)) return
    unwrap(await this.#steadily(() => this.worker.escalate(question)))
  }

  async remember(key: string, value: object): Promise<void> {
    unwrap(await this.#steadily(() => this.worker.writeMemory(key, value)))
  }

  /** Where the next turn starts from: what was kept last. */
  async lastCommit(): Promise<string> {
    const { register } = unwrap(await this.worker.look())
    for (const { id } of register.toReversed()) {
      const { payload } = unwrap(await this.worker.readCheckpoint(id))
      if (typeof payload.commit === 'string') return payload.commit
    }
    return (this.facts.kind === 'work' ? this.facts.start : undefined) ?? this.facts.commit
  }
}

/** What came back together with a link or a pipe that had taken its place is a file like any other. */
function refusedAction(kind: ChangeKind, reason: RefusalReason): FolderAction {
  if (kind === 'deleted') return 'write'
  if (reason === 'symlink') return 'link_outside'
  return reason === 'special' ? 'special_file' : 'write'
}

interface Refusal {
  readonly target: string
  readonly action: FolderAction
}

/** The last one says how many more there were. */
function bounded(refusals: readonly Refusal[]): readonly Refusal[] {
  const most = coordinatorLimits.recordedRefusals
  if (refusals.length <= most) return refusals
  return [...refusals.slice(0, most), { ...refusals[0]!, target: `… and ${refusals.length - most} more` }]
}

const most = kernelLimits.filesChanged

/** Of a checkpoint of work; its commit has all the files. */
export function payloadOf(content: string, changed: readonly FileChange[], more: WorkPayload) {
  return { content, files_changed: changed.slice(0, most).map(({ path }) => matchedText(path)), ...more }
}
