// What the agent of a turn may do from inside its workspace, through `parley ws` or the tools of `parley mcp`.
import { type Clock, type EnvelopeId, ok, type Result, refuse } from '@parley/core'
import type { AgentVerb, AgentVerbs, TurnSpending, WorkspaceMail, WorkspaceStatus } from '../contract.ts'
import type { WorkspaceFacts } from '../run/facts.ts'
import type { Turn } from './turn.ts'
import type { WorkspaceRecord } from './workspace-record.ts'

/** Whoever judges or joins the work of others keeps nothing of its own, and gets no second turn for an answer. */
const VERBS: { readonly [Kind in WorkspaceFacts['kind']]: readonly AgentVerb[] } = {
  work: ['status', 'inbox', 'checkpoint', 'ask', 'escalate', 'block', 'spend'],
  review: ['status', 'inbox', 'ask', 'escalate', 'spend', 'verdict'],
  merge: ['status', 'inbox', 'ask', 'escalate', 'spend'],
  check: ['status'],
  team: [],
}

interface AgentVerbsOptions {
  readonly record: WorkspaceRecord
  readonly turn: Turn
  readonly clock: Clock
}

export function agentVerbs({ record, turn, clock }: AgentVerbsOptions): AgentVerbs {
  const { kind, agent } = record.facts
  const may = async <T>(verb: AgentVerb, act: () => Promise<Result<T>>): Promise<Result<T>> => {
    if (turn.over.aborted) return refuse('permission_denied', 'The turn of this token is over.')
    if (VERBS[kind].includes(verb)) return act()
    return refuse('permission_denied', `A turn for a ${kind} has no \`${verb}\`; it has ${VERBS[kind].join(', ')}.`)
  }
  return {
    principal: { id: agent, kind: 'agent', scopes: ['workspace'] },
    status: () => may('status', () => status(record, turn.epoch)),
    inbox: () => may('inbox', () => inbox(record, turn)),
    checkpoint: intent => may('checkpoint', () => keep(record, intent.trim(), turn)),
    ask: (given, waitMs, signal) => {
      const question = given.trim()
      return may('ask', () =>
        turn.asking(question, waitMs, () => ask(record, turn, question, { clock, waitMs, signal })),
      )
    },
    escalate: reason => may('escalate', () => escalate(record, reason.trim())),
    block: reason =>
      may('block', async () => {
        if (reason.trim() === '') return refuse('invalid_argument', 'Say what you wait for.')
        turn.blocked = reason.trim()
        return ok(undefined)
      }),
    spend: () => may('spend', () => spend(record, turn)),
    verdict: judgement =>
      may('verdict', async () => {
        if (judgement.verdict !== 'accept' && judgement.feedback.trim() === '')
          return refuse('invalid_argument', 'Say what must be better: a verdict that does not accept needs findings.')
        turn.judgement = judgement
        return ok(undefined)
      }),
    async *waiting(signal) {
      const until = AbortSignal.any([signal, turn.over])
      do {
        // Heard from now on, so that nothing comes unseen between a look and the next wait.
        const more = record.inbox.arrival(until)
        const mail = await record.inbox.waiting()
        if (until.aborted || !mail.ok) return
        yield mail.value
        if (!(await more)) return
      } while (!until.aborted)
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
    kind: facts.kind,
    agent: facts.agent,
    state: view.value.status,
    epoch,
    unread: view.value.inbox.length,
    checkpoints: view.value.register.length,
    may_change: facts.kind === 'work' ? (task.paths ?? 'everything') : [],
    verbs: VERBS[facts.kind],
  })
}

async function inbox(record: WorkspaceRecord, { taken }: Turn): Promise<Result<readonly WorkspaceMail[]>> {
  const mail: WorkspaceMail[] = []
  for (;;) {
    const next = await record.inbox.consume()
    if (!next.ok) return next
    if (next.value === undefined) return ok(mail)
    taken.push(next.value.id as EnvelopeId)
    mail.push(next.value)
  }
}

async function keep(record: WorkspaceRecord, intent: string, turn: Turn) {
  if (intent === '') return refuse('invalid_argument', 'Say what this checkpoint is.')
  const captured = await record.capture()
  if (!captured.ok) return captured
  const made = {
    status: 'provisional',
    content: intent,
    intent,
    turn: turn.record(),
    captured: captured.value,
  } as const
  const checkpoint = await record.keep(made)
  if (!checkpoint.ok) return checkpoint
  return ok({ checkpoint: checkpoint.value, files: captured.value.changed.map(({ path }) => path) })
}

async function escalate({ worker }: WorkspaceRecord, reason: string): Promise<Result<void>> {
  if (reason === '') return refuse('invalid_argument', 'Say what the person should know.')
  const escalated = await worker.escalate(reason)
  return escalated.ok ? ok(undefined) : escalated
}

async function ask(
  record: WorkspaceRecord,
  turn: Turn,
  question: string,
  { clock, waitMs, signal }: { readonly clock: Clock; readonly waitMs: number; readonly signal: AbortSignal },
): Promise<Result<readonly WorkspaceMail[]>> {
  const late = new AbortController()
  const gone = AbortSignal.any([turn.over, signal])
  // Before the question: whoever answers may be quick.
  const answer = record.inbox.arrival(AbortSignal.any([gone, late.signal]))
  const cancel = clock.after(waitMs, () => late.abort(), { background: true })
  try {
    const asked = await escalate(record, question)
    if (!asked.ok) return asked
    await answer
    // Mail that nobody is left to read is for the next turn.
    return gone.aborted ? ok([]) : await inbox(record, turn)
  } finally {
    cancel()
    late.abort()
  }
}

async function spend({ run, workspace }: WorkspaceRecord, turn: Turn): Promise<Result<TurnSpending>> {
  const left = await run.remaining(workspace)
  if (!left.ok) return left
  const { token_limit: tokens = null, cost_limit: usd = null, timeout } = left.value
  const { tokens_in = 0, tokens_out = 0, usd: cost = 0, wall_ms } = turn.record()
  return ok({
    used: { tokens: tokens_in + tokens_out, usd: cost, seconds: Math.round(wall_ms / 1000) },
    left: { tokens, usd, seconds: timeout === null ? null : Math.max(0, Math.round(timeout / 1000)) },
  })
}
