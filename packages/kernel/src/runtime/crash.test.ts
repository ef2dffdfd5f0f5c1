// A real process on a real disk, killed at once after an acknowledged append (W-TRAIL-26, W-REC-14).
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { type RunId, unwrap } from '@parley/core'
import { type Entry, openTrail, type Trail } from '@parley/trail'
import { expect, onTestFinished, test } from 'vitest'
import { GUARDS } from '../testing/host.ts'
import { temporaryProfile } from '../testing/profile.ts'
import type { AgentHandle } from './handle/agent.ts'
import type { RunHandle } from './handle/run-handle.ts'
import { Runtime } from './runtime.ts'

const WORKER = fileURLToPath(new URL('../testing/crash-run.ts', import.meta.url))

/** Lets the process work until its nth command is acknowledged, at which it dies. */
async function workAndDie(profile: string, commands: number): Promise<RunId> {
  const child = spawn(process.execPath, [...process.execArgv, WORKER, profile, String(commands)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const died = new Promise(resolve => child.on('exit', (_code, signal) => resolve(signal)))
  let run = ''
  for await (const line of createInterface({ input: child.stdout })) run = line
  expect(await died).toBe('SIGKILL')
  return run as RunId
}

async function reopen(profile: string): Promise<{ readonly trail: Trail; readonly runtime: Runtime }> {
  const trail = await openTrail(profile)
  onTestFinished(() => trail.close())
  expect(trail.damage).toEqual([])
  const runtime = await Runtime.open({ trail, ...GUARDS })
  onTestFinished(() => runtime.close())
  return { trail, runtime }
}

/** What a reader can say about the run's only worker and its task. */
async function seen(run: RunHandle): Promise<object> {
  const root = run.coordinator as AgentHandle
  const { children, status } = unwrap(await root.look())
  const [task] = await run.read(state => [...state.tasks.values()].map(each => each.status))
  const [child] = children
  if (!child) return { root: status, task }
  const worker = unwrap(await root.look(child))
  const { memory, inbox, register } = worker
  return { root: status, task, worker: worker.status, memory, inbox: inbox.length, register: register.length }
}

/** The newest entry of a kind, by what it says. */
function last(entries: readonly Entry[], event_type: string): unknown {
  return entries.findLast(entry => entry.event_type === event_type)?.body
}

const at = { root: 'active', worker: 'active', memory: [] as string[], inbox: 0, register: 0 }
const taken = { ...at, task: 'in_progress', memory: ['mail'] }
const done = { ...taken, register: 1 }
const merged = { ...done, worker: 'closed', task: 'integrated' }
const STEPS: readonly (readonly [what: string, event: string, body: object, state: object])[] = [
  ['started the run', 'workspace_state_changed', { to_state: 'active' }, { root: 'active', task: 'pending' }],
  ['created a worker', 'workspace_created', { role: 'worker' }, { ...at, task: 'assigned', inbox: 1 }],
  ['handed over its mail', 'envelope_delivered', {}, { ...at, task: 'assigned' }],
  ['started the task', 'task_status_changed', { to_status: 'in_progress' }, { ...at, task: 'in_progress' }],
  ['wrote its memory', 'task_status_changed', { to_status: 'in_progress' }, taken],
  ['blocked', 'workspace_state_changed', { to_state: 'blocked' }, { ...taken, worker: 'blocked' }],
  ['started again', 'workspace_state_changed', { to_state: 'active' }, taken],
  ['made a checkpoint', 'checkpoint_created', { status: 'final' }, done],
  ['completed', 'task_completed', {}, { ...done, worker: 'integrating', task: 'completed' }],
  ['integrated it', 'task_status_changed', { to_status: 'integrated' }, merged],
  ['closed the run', 'workspace_state_changed', { trigger: 'run_complete' }, { ...merged, root: 'closed' }],
]

const NUMBERED = STEPS.map((step, index) => [index + 1, ...step] as const)

test.each(NUMBERED)(
  'W-TRAIL-26 killed at the acknowledgement of command %d: it %s',
  async (count, _what, event, body, state) => {
    const profile = temporaryProfile()
    const id = await workAndDie(profile, count)
    const { trail, runtime } = await reopen(profile)
    const run = unwrap(await runtime.open(id))
    expect(last(await run.entries(), event)).toMatchObject(body)
    // What was on its way when the process died arrives now; nothing that was acknowledged is missing before that.
    await expect.poll(() => seen(run), { interval: 5 }).toEqual(state)
    const report = await trail.run(id).verify({ signed: true })
    expect(report.findings).toEqual([])
    expect(runtime.active).toEqual(count === STEPS.length ? [] : [id])
  },
)
