// Views for tests: a run as the node would show it, with only what a test cares about said.
import type { EntryView, GateView, PlanTaskView, RunView, StepView, UsageView } from '../node/views.ts'

export const NO_USAGE: UsageView = { turns: 0, wall_ms: 0, output_bytes: 0 }

export function taskView(id: string, with_: Partial<PlanTaskView> = {}): PlanTaskView {
  return {
    id,
    title: id,
    agent: 'writer',
    state: 'waiting',
    needs: [],
    attempt: 0,
    attempts: 2,
    files: [],
    refused: [],
    steps: [],
    usage: NO_USAGE,
    ...with_,
  }
}

export function stepView(with_: Partial<StepView> = {}): StepView {
  return {
    kind: 'work',
    agent: 'writer#1',
    attempt: 1,
    workspace: 'ws_01m7cccccccccccccccccccccc',
    outcome: 'complete',
    started: at(1),
    ended: at(13),
    usage: NO_USAGE,
    ...with_,
  }
}

export function runView(with_: Partial<RunView> = {}): RunView {
  const tasks = with_.tasks ?? []
  return {
    run: 'run_01m7aaaaaaaaaaaaaaaaaaaaaa',
    intent: 'Tidy the house',
    team: 'house',
    project: '/projects/house',
    principal: 'owner',
    state: 'working',
    started: '2026-01-01T00:00:00.000000Z',
    tasks_done: tasks.filter(({ state }) => state === 'done').length,
    tasks_total: tasks.length,
    usage: NO_USAGE,
    gates: [],
    warnings: [],
    cursor: 1,
    ...with_,
    tasks,
  }
}

export function at(seconds: number): string {
  return new Date(Date.UTC(2026, 0, 1) + seconds * 1000).toISOString().replace('Z', '000Z')
}

/** A gate of a task's approval, or another with what is said of it. */
export function gateView(run: string, what: string, with_: Partial<GateView> = {}): GateView {
  return {
    id: `gate_${run.slice(4, 16)}${what}`,
    run,
    kind: 'gate',
    type: 'task_approval',
    question: `${what}?`,
    task: what,
    addressee: 'owner',
    waits_for: 'person',
    since: at(0),
    changes: ['name', 'description', 'priority', 'resource_estimate'],
    ...with_,
  }
}

export function questionView(run: string, task: string, with_: Partial<GateView> = {}): GateView {
  return gateView(run, task, {
    id: `sig_${run.slice(4, 16)}${task}`,
    kind: 'question',
    type: 'escalation',
    workspace: 'ws_01m7cccccccccccccccccccccc',
    changes: [],
    ...with_,
  })
}

export function entryView(seq: number): EntryView {
  return {
    seq,
    id: `e_${seq}`,
    timestamp: at(seq),
    workspace: 'ws_01m7cccccccccccccccccccccc',
    actor: 'writer',
    event_type: 'workspace_created',
    body: { role: 'worker', nested: { hidden: true }, tries: 2 },
  } as unknown as EntryView
}
