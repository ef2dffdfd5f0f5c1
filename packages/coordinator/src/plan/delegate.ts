// A team inside the team: the delegate of a task with a plan of its own (W-ROLE-11). Its agents' work is merged into a
// line of its own, which is judged and merged like any other work.
import { unwrap } from '@parley/core'
import { ask, emptyInbox } from '../ask.ts'
import { coordinatorLimits } from '../limits.ts'
import type { ProjectedWorkspace } from '../projection/projected.ts'
import type { TeamFacts } from '../run/facts.ts'
import type { PlannedTask } from '../team/team.ts'
import { payloadOf } from '../turn/workspace-record.ts'
import { Integrator, type IntegratorHost } from './integrator.ts'

export async function driveDelegate(
  host: IntegratorHost,
  workspace: ProjectedWorkspace,
  facts: TeamFacts,
  planned: PlannedTask,
): Promise<void> {
  const { run, projection, folders } = host
  const handle = unwrap(await run.delegate(workspace.id))
  const task = [...projection.tasks.values()].find(each => each.attempts.at(-1) === workspace.id)
  if (!task || !planned.plan) return
  // Its directive repeats the task, and other mail is for its members. A paused lead reads none: that would be on
  // record as a denial.
  if (workspace.state === 'suspended' || workspace.state === 'migrating') return
  if (!(await emptyInbox(handle))) return
  if (task.status === 'assigned') {
    await ask(handle.started())
    return
  }
  unwrap(await folders.startLine(workspace.id, facts.commit))
  const prompt = [planned.prompt, ...facts.feedback].filter(text => text !== '').join('\n\n')
  const integrator = new Integrator(host, {
    handle,
    plan: planned.plan,
    delegate: { workspace, task: task.id, prompt },
  })
  // The checkpoint was made, and the node died before `complete`.
  if (workspace.checkpoints.some(each => each.final)) {
    await ask(handle.complete())
    return
  }
  await integrator.step()
  const { tasks } = integrator
  const parts = [...projection.workspaces.values()].filter(each => each.parent === workspace.id)
  if (!tasks.settled || parts.some(each => each.ended === undefined)) return
  const commit = await folders.head(workspace.id)
  const changed = await folders.changes(facts.commit, commit)
  // Of one that fails, why comes last, where it is not cut off.
  const content = [tasks.summary, tasks.failure].filter(text => text !== undefined).join('\n\n')
  const payload = payloadOf(content, changed, { commit })
  const draft = { type: 'artifact', payload, intent: planned.title, parent: null, confidence: 'medium' } as const
  const keep = (status: 'final' | 'provisional') => ask(handle.checkpoint({ ...draft, status }))
  if (tasks.failure !== undefined) {
    // What its parts had merged by then can be saved with it.
    if (commit !== facts.commit && workspace.checkpoints.length === 0) await keep('provisional')
    await ask(handle.failed(tasks.failure.slice(0, coordinatorLimits.reasonLength)))
    return
  }
  if (await keep('final')) await ask(handle.complete())
}
