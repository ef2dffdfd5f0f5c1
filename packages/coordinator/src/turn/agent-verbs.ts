// What the agent of a turn may do from inside its workspace, through `parley ws`.
import { type EnvelopeId, ok, type Result, refuse } from '@parley/core'
import type { AgentVerbs, WorkspaceMail, WorkspaceStatus } from '../contract.ts'
import type { TurnRecord } from '../projection/projected.ts'
import type { WorkspaceRecord } from './workspace-record.ts'

interface AgentVerbsOptions {
  readonly record: WorkspaceRecord
  readonly open: () => boolean
  readonly taken: (id: EnvelopeId) => void
  /** The turn as far as it has come. */
  readonly turn: () => TurnRecord
  readonly block: (reason: string) => void
}

export function agentVerbs({ record, open, turn, taken, block }: AgentVerbsOptions): AgentVerbs {
  const closed = () => refuse('permission_denied', 'The turn of this token is over.')
  return {
    principal: { id: record.facts.agent, kind: 'agent', scopes: ['workspace'] },
    status: async () => (open() ? status(record, turn().epoch) : closed()),
    inbox: async () => (open() ? inbox(record, taken) : closed()),
    checkpoint: async intent => (open() ? keep(record, intent, turn()) : closed()),
    block: async reason => {
      if (!open()) return closed()
      if (reason.trim() === '') return refuse('invalid_argument', 'Say what you wait for.')
      block(reason.trim())
      return ok(undefined)
    },
  }
}

async function status({ run, worker, facts, task }: WorkspaceRecord, epoch: number): Promise<Result<WorkspaceStatus>> {
  const view = await worker.look()
  if (!view.ok) return view
  return ok({
    run: run.id,
    workspace: worker.workspace,
    task: task.id,
    title: task.title,
    agent: facts.agent,
    state: view.value.status,
    epoch,
    unread: view.value.inbox.length,
    checkpoints: view.value.register.length,
    may_change: facts.kind === 'work' ? (task.paths ?? 'everything') : [],
  })
}

async function inbox(record: WorkspaceRecord, taken: AgentVerbsOptions['taken']) {
  const mail: WorkspaceMail[] = []
  for (;;) {
    const next = await record.inbox.consume()
    if (!next.ok) return next
    if (next.value === undefined) return ok(mail)
    taken(next.value.id as EnvelopeId)
    mail.push(next.value)
  }
}

async function keep(record: WorkspaceRecord, intent: string, turn: TurnRecord) {
  if (intent.trim() === '') return refuse('invalid_argument', 'Say what this checkpoint is.')
  if (record.facts.kind !== 'work')
    return refuse('permission_denied', 'A workspace that judges the work of others keeps nothing.')
  const captured = await record.capture()
  if (!captured.ok) return captured
  const made = { status: 'provisional', content: intent, intent, turn, captured: captured.value } as const
  const checkpoint = await record.keep(made)
  if (!checkpoint.ok) return checkpoint
  return ok({ checkpoint: checkpoint.value, files: captured.value.changed.map(({ path }) => path) })
}
