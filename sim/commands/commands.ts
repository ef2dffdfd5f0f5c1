// What agents and hosts do, one call of the public API each, by weight. Who acts on what is mostly sensible and
// sometimes not.

import type { CheckpointId, EnvelopeId, GraphId, RightId, TaskId, WorkspaceId } from '@parley/core'
import type { AgentHandle } from '@parley/kernel'
import { checkPage } from '../checks/pages.ts'
import { isOver } from '../model/records.ts'
import type { Dice } from '../random.ts'
import type { World } from '../world/world.ts'
import { checkpointDraft, envelopeDraft, payload, taskDrafts, workspaceDraft } from './drafts.ts'
import { highwayCommands, highwayHandlers } from './highway.ts'
import { runDraft } from './highway-drafts.ts'
import { salvageCommands, salvageHandlers } from './salvage.ts'
import { above, anyone, anyTask, completed, idOf, leader, root, type Scene, someone, speak } from './scene.ts'
import { storageCommands, storageHandlers } from './storage.ts'
import { successionCommands, successionHandlers } from './succession.ts'
import { teamCommands, teamHandlers } from './team.ts'

/** How often each comes. */
export const commands = {
  ...highwayCommands,
  ...teamCommands,
  ...successionCommands,
  ...salvageCommands,
  ...storageCommands,
  start: 1,
  begin_work: 3,
  create: 11,
  assign: 6,
  dispatch: 1.5,
  emit: 8,
  block: 3,
  unblock: 3,
  finish: 9,
  send: 16,
  checkpoint: 6,
  consume: 8,
  memory: 4,
  suspend: 3,
  resume: 3.5,
  abort: 1.5,
  grant: 6,
  contest: 3,
  rush: 2.5,
  revoke: 2,
  submit_graph: 2,
  add_tasks: 1.5,
  retry: 2,
  cancel: 0.8,
  integrate: 3,
  accept: 4,
  refuse: 1.5,
  read: 4,
  query: 1.5,
  forbidden: 1.5,
  close: 0.4,
  stop: 0.3,
} as const
export type CommandKind = keyof typeof commands

/** The most runs that are at work at once, and the most workspaces of one. */
const MOST_RUNS = 4
const MOST_WORKSPACES = 60

export function perform(world: World, kind: CommandKind, dice: Dice): void {
  const open = world.openRuns
  if (open.length === 0 || kind === 'start') {
    if (open.length < MOST_RUNS) start(world, dice)
    return
  }
  const ended = dice.chance(0.02) ? dice.maybe([...world.models.values()].filter(run => run.ended)) : undefined
  const run = ended ?? dice.pick(open)
  handlers[kind]({ world, dice, run })
}

function start(world: World, dice: Dice): void {
  const draft = runDraft(dice)
  world.launch(async () => {
    const { runtime } = world
    const started = await runtime.start(draft as never)
    if (!started.ok) return
    if (world.runtime === runtime) world.runs.set(started.value.id, started.value)
    await started.value.coordinator.started()
  })
}

const handlers: Readonly<Record<Exclude<CommandKind, 'start'>, (scene: Scene) => void>> = {
  ...highwayHandlers,
  ...teamHandlers,
  ...successionHandlers,
  ...salvageHandlers,
  ...storageHandlers,
  begin_work: scene => {
    const waiting = someone(scene, workspace => workspace.status === 'idle')
    speak(scene, waiting, agent => agent.started())
  },
  create: scene => {
    const { world, dice, run } = scene
    if (run.workspaces.size >= MOST_WORKSPACES)
      return speak(scene, anyone(scene), agent => root(scene, agent).abort(agent.workspace))
    if (dice.chance(0.02)) world.bindingFails = true
    speak(scene, leader(scene), agent => agent.createWorkspace(workspaceDraft(dice, run) as never))
  },
  assign: scene => {
    const { dice, run } = scene
    if (run.workspaces.size >= MOST_WORKSPACES) return
    const task = dice.maybe([...run.tasks.values()].filter(each => each.status === 'pending'))
    const draft = { ...workspaceDraft(dice, run), ...(task && { task: task.id }) }
    speak(scene, leader(scene), agent => agent.createWorkspace(draft as never))
  },
  dispatch: scene => {
    const target = someone(scene, each => each.directive !== null && !scene.run.envelopes.has(each.directive))
    speak(scene, above(scene, target), agent => agent.dispatch(idOf(target)))
  },
  emit: scene => {
    const { dice } = scene
    const types = [
      'ready',
      'started',
      'blocked',
      'checkpoint',
      'complete',
      'failed',
      'integrate',
      'acknowledged',
      'escalation',
      'suspend',
      'migrate',
      'party',
    ]
    const type = dice.chance(0.9) ? dice.pick(types.filter(each => each !== 'failed')) : dice.pick(types)
    const draft: Record<string, unknown> = { type }
    if (dice.chance(0.8)) draft.reason = 'because'
    if (dice.chance(0.3)) draft.ref = anyone(scene)?.id ?? 'nothing'
    if (dice.chance(0.04)) draft.from = anyone(scene)?.id
    if (dice.chance(0.04)) draft.delivered_to = 'me'
    speak(scene, anyone(scene), agent => agent.emit(draft as never))
  },
  block: scene =>
    speak(
      scene,
      someone(scene, each => each.status === 'active' && each.parent !== null),
      agent => agent.blocked('needs input'),
    ),
  unblock: scene =>
    speak(
      scene,
      someone(scene, each => each.status === 'blocked'),
      agent => agent.started(),
    ),
  finish: scene => {
    const done = someone(scene, each => each.status === 'active' && each.parent !== null)
    if (done && done.deliverable === null && scene.dice.chance(0.8))
      speak(scene, done, agent => agent.checkpoint({ ...checkpointDraft(scene.dice, done), status: 'final' } as never))
    speak(scene, done, agent => agent.complete())
  },
  send: scene => {
    const from = someone(scene, each => each.status === 'active' || each.status === 'blocked')
    if (from) speak(scene, from, agent => agent.send(envelopeDraft(scene.dice, scene.run, from) as never))
  },
  checkpoint: scene => {
    const by = someone(scene, each => each.status === 'active' && each.parent !== null)
    if (by) speak(scene, by, agent => agent.checkpoint(checkpointDraft(scene.dice, by) as never))
  },
  consume: scene =>
    speak(
      scene,
      someone(scene, each => each.inbox.length > 0 && (each.status === 'active' || each.status === 'blocked')),
      agent => agent.consume(),
    ),
  memory: scene => {
    const { dice } = scene
    const key = dice.pick(['plan', 'notes', 'x', dice.chance(0.05) ? '' : 'y'])
    speak(
      scene,
      someone(scene, each => each.parent !== null && ['active', 'blocked'].includes(each.status)),
      agent => {
        if (dice.chance(0.2)) return agent.deleteMemory(key)
        const other = dice.chance(0.1) ? idOf(anyone(scene)) : undefined
        return agent.writeMemory(key, dice.chance(0.05) ? () => 0 : { at: dice.int(1000) }, other)
      },
    )
  },
  suspend: scene => {
    const target = someone(
      scene,
      each => (each.status === 'active' || each.status === 'blocked') && each.parent !== null,
    )
    speak(scene, above(scene, target), agent => agent.suspend(idOf(target), scene.dice.chance(0.95) ? 'pause' : ''))
  },
  resume: scene => {
    const target = someone(scene, each => each.status === 'suspended')
    speak(scene, above(scene, target), agent => agent.resume(idOf(target)))
  },
  abort: scene => {
    const target = anyone(scene)
    speak(scene, above(scene, target), agent => agent.abort(idOf(target)))
  },
  grant: scene => {
    const type = scene.dice.pick(['send', 'send_once', 'send_once', scene.dice.chance(0.1) ? 'receive' : 'send'])
    // Often beside a right that is there already, so that both kinds are held.
    const beside = scene.dice.chance(0.4) ? scene.dice.maybe([...scene.run.rights.values()]) : undefined
    const holder = (beside?.holder ?? anyone(scene)?.id ?? 'ws_none') as WorkspaceId
    const target = (beside?.target ?? anyone(scene)?.id ?? 'ws_none') as WorkspaceId
    speak(scene, leader(scene), agent => agent.grantRight(type as never, holder, target))
  },
  // Several who want something of the same workspace at once.
  contest: scene => {
    const { dice } = scene
    const target = someone(scene, each => each.parent !== null && !isOver(each.status))
    if (!target) return
    const id = idOf(target)
    const moves: (() => void)[] = [
      () => speak(scene, target, agent => agent.complete()),
      () => speak(scene, target, agent => agent.blocked('contest')),
      () => speak(scene, target, agent => agent.started()),
      () => speak(scene, target, agent => agent.consume()),
      () => speak(scene, target, agent => agent.checkpoint(checkpointDraft(dice, target) as never)),
      () => speak(scene, target, agent => agent.send(envelopeDraft(dice, scene.run, target) as never)),
      () => speak(scene, above(scene, target), agent => agent.suspend(id, 'contest')),
      () => speak(scene, above(scene, target), agent => agent.resume(id)),
      () => speak(scene, above(scene, target), agent => agent.directive(id, payload(dice) as never)),
      () => speak(scene, above(scene, target), agent => agent.accept(id)),
      () => dice.chance(0.3) && speak(scene, above(scene, target), agent => agent.abort(id)),
    ]
    for (let count = dice.between(2, 6); count > 0; count--) dice.pick(moves)()
  },
  // Everyone below one parent finishes, and all is integrated at once.
  rush: scene => {
    const { dice, run } = scene
    const busy = (id: string) => ['active', 'integrating'].includes(run.workspace(id).status)
    const parent = someone(scene, each => each.merging === null && each.children.filter(busy).length > 1)
    for (const id of parent?.children ?? []) {
      const child = run.workspace(id)
      if (child.status === 'active' && dice.chance(0.5)) {
        const draft = { ...checkpointDraft(dice, child), status: 'final' }
        speak(scene, child, agent => agent.checkpoint(draft as never))
        speak(scene, child, agent => agent.complete())
      }
      if (child.status !== 'active' && child.status !== 'integrating') continue
      const how = dice.pick(['begin', 'begin', 'accept', 'reject', 'wait'] as const)
      if (how === 'begin') speak(scene, parent, agent => agent.beginIntegration(idOf(child)))
      else if (how !== 'wait') speak(scene, parent, agent => agent.decideIntegration(idOf(child), how))
    }
  },
  revoke: scene => {
    const right = scene.dice.maybe([...scene.run.rights.keys()]) ?? 'right_none'
    speak(scene, leader(scene), agent => agent.revokeRight(right as RightId, 'no longer needed'))
  },
  submit_graph: scene =>
    speak(scene, leader(scene), agent =>
      agent.submitGraph(taskDrafts(scene.dice, scene.run, undefined) as never, injected(scene)),
    ),
  add_tasks: scene => {
    const { dice, run } = scene
    const by = leader(scene)
    if (run.graphs.size === 0 && dice.chance(0.9)) return
    const own = by?.task ?? undefined
    const graph = (own !== undefined ? run.tasks.get(own)?.graph : dice.maybe([...run.graphs.keys()])) ?? 'graph_none'
    const parent = own ?? (dice.chance(0.3) ? dice.maybe([...run.tasks.keys()]) : undefined)
    speak(scene, by, agent => agent.addTasks(graph as GraphId, taskDrafts(dice, run, parent) as never))
  },
  retry: scene => {
    const failed = [...scene.run.tasks.values()].filter(task => task.status === 'failed')
    const task = scene.dice.maybe(failed)?.id ?? anyTask(scene)
    if (task) speak(scene, leader(scene), agent => agent.retryTask(task as TaskId, scene.dice.chance(0.1)))
  },
  cancel: scene => {
    const task = anyTask(scene)
    if (task) speak(scene, leader(scene), agent => agent.cancelTask(task as TaskId))
  },
  integrate: scene => {
    const source = completed(scene)
    const strategy = scene.dice.chance(0.9) ? 'direct' : scene.dice.pick(['layered', 'evaluated', 'magic'])
    speak(scene, above(scene, source), agent => agent.beginIntegration(idOf(source), strategy))
  },
  accept: scene => {
    const source = completed(scene)
    speak(scene, above(scene, source), agent => agent.accept(idOf(source)))
  },
  refuse: scene => {
    const source = completed(scene)
    const how = scene.dice.pick(['revise', 'reject', 'fail', 'shrug'])
    speak(scene, above(scene, source), agent => {
      if (how === 'fail') return agent.failIntegration(idOf(source))
      return agent.decideIntegration(idOf(source), how as never)
    })
  },
  read: scene => speak(scene, anyone(scene), agent => read(scene, agent)),
  query: scene => {
    const { dice } = scene
    const filter = dice.pick([
      { scope: 'global', limit: 5 },
      { scope: 'local', workspace: idOf(anyone(scene)), limit: 5 },
      { workspace: [idOf(anyone(scene)), idOf(anyone(scene))], limit: 3 },
      { event_type: ['signal_emitted'], limit: 3 },
      { order: 'descending', limit: 4 },
      { nonsense: 1 },
    ])
    const reader = anyone(scene)
    speak(scene, reader, async agent => {
      // What it may see may become less while it waits for the answer.
      const seen = new Set(reader && [...scene.run.workspaces.keys()].filter(id => scene.run.sees(reader, id)))
      const page = await agent.query(filter as never)
      if (page.ok && reader) checkPage(scene.world, scene.run, reader, page.value.entries, seen)
    })
  },
  forbidden: scene => {
    const { dice, run } = scene
    const target = idOf(anyone(scene))
    const task = (dice.maybe([...run.tasks.keys()]) ?? 'task_none') as TaskId
    const checkpoint = (dice.maybe([...run.checkpoints.keys()]) ?? 'cp_none') as CheckpointId
    speak(scene, anyone(scene), agent =>
      dice.pick([
        () => agent.setAuthority(target),
        () => agent.setDelegate(target),
        () => agent.revokeVisibility(target),
        () => agent.changeTask(task),
        () => agent.removeTask(task),
        () => agent.changeCheckpoint(checkpoint),
      ])(),
    )
  },
  close: ({ world, run }) => {
    const handle = world.runs.get(run.id)
    if (handle) world.launch(() => handle.close())
  },
  stop: ({ world, run }) => {
    const handle = world.runs.get(run.id)
    if (handle) world.launch(() => handle.stop())
  },
}

/** Now and then the mail of a person that the graph answers. */
function injected({ dice, run }: Scene): EnvelopeId | undefined {
  const human = [...run.envelopes.values()].filter(each => each.origin === 'human')
  return dice.chance(0.4) ? (dice.maybe(human)?.id as EnvelopeId | undefined) : undefined
}

function read({ dice, run }: Scene, agent: AgentHandle): Promise<unknown> {
  const workspace = (dice.maybe([...run.workspaces.keys()]) ?? 'ws_none') as WorkspaceId
  const envelope = (dice.maybe([...run.envelopes.keys()]) ?? 'env_none') as EnvelopeId
  const checkpoint = (dice.maybe([...run.checkpoints.keys()]) ?? 'cp_none') as CheckpointId
  const artifact = dice.maybe([...run.artifacts.keys()]) ?? 'art_none'
  const task = (dice.maybe([...run.tasks.keys()]) ?? 'task_none') as TaskId
  const graph = (run.tasks.get(task)?.graph ?? 'graph_none') as GraphId
  return dice.pick([
    () => agent.look(workspace),
    () => agent.readMemory('plan', workspace),
    () => agent.readEnvelope(envelope),
    () => agent.thread(envelope),
    () => agent.readCheckpoint(checkpoint),
    () => agent.readArtifact(artifact),
    () => agent.readContext(workspace),
    () => agent.rights(),
    () => agent.task(task),
    () => agent.graph(graph),
    () => agent.topology.siblings(workspace),
    () => agent.look(),
  ])()
}
