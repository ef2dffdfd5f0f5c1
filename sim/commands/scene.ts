// Who acts on what: one run of the world, and choices among its workspaces that are mostly sensible and sometimes not.
import type { WorkspaceId } from '@parley/core'
import type { AgentHandle } from '@parley/kernel'
import type { RunModel } from '../model/model.ts'
import { isOver, type WorkspaceModel } from '../model/records.ts'
import type { Dice } from '../random.ts'
import type { World } from '../world/world.ts'

export interface Scene {
  readonly world: World
  readonly dice: Dice
  readonly run: RunModel
}

/** Lets the agent of a workspace call. Whose handle is not at hand yet is fetched for the next time. */
export function speak(
  { world, run }: Scene,
  who: WorkspaceModel | undefined,
  call: (agent: AgentHandle) => Promise<unknown>,
): void {
  if (!who) return
  const agent = world.agents.get(who.id)
  if (agent) world.launch(() => call(agent))
  else if (!world.watch.troubled) world.launch(() => fetchAgent(world, run, who))
}

async function fetchAgent(world: World, run: RunModel, who: WorkspaceModel): Promise<void> {
  let handle = world.runs.get(run.id)
  if (!handle) {
    const opened = await world.runtime.open(run.id as never)
    if (!opened.ok) return
    handle = opened.value
    world.runs.set(run.id, handle)
  }
  const agent = await handle.worker(who.id as WorkspaceId)
  if (agent.ok) world.agents.set(who.id, agent.value as AgentHandle)
}

export function root({ world, run }: Scene, otherwise: AgentHandle): AgentHandle {
  return world.agents.get(run.root?.id ?? '') ?? otherwise
}

/** Any workspace; those at work more often. */
export function anyone({ dice, run }: Scene): WorkspaceModel | undefined {
  const all = [...run.workspaces.values()]
  const open = all.filter(each => !isOver(each.status))
  return dice.chance(0.9) ? (dice.maybe(open) ?? dice.maybe(all)) : dice.maybe(all)
}

/** One that fits; now and then anyone. */
export function someone(scene: Scene, fits: (workspace: WorkspaceModel) => boolean): WorkspaceModel | undefined {
  const fitting = [...scene.run.workspaces.values()].filter(fits)
  return (
    (scene.dice.chance(0.95) ? scene.dice.maybe(fitting) : undefined) ??
    (scene.dice.chance(0.3) ? anyone(scene) : undefined)
  )
}

/** The root or a delegate; now and then anyone. */
export function leader(scene: Scene): WorkspaceModel | undefined {
  const { dice, run } = scene
  if (dice.chance(0.6)) return run.root
  return someone(scene, each => each.delegate && each.status === 'active') ?? run.root
}

/** The parent; now and then the root or anyone. */
export function above(scene: Scene, target: WorkspaceModel | undefined): WorkspaceModel | undefined {
  const { dice, run } = scene
  if (!target && dice.chance(0.9)) return undefined
  if (!target || dice.chance(0.05)) return anyone(scene)
  return dice.chance(0.8) ? run.workspaces.get(target.parent ?? target.id) : run.root
}

export function completed(scene: Scene): WorkspaceModel | undefined {
  return someone(scene, each => each.status === 'integrating')
}

/** Now and then one that does not exist. */
export function anyTask({ dice, run }: Scene): string | undefined {
  return dice.chance(0.05) ? 'task_none' : dice.maybe([...run.tasks.keys()])
}

export function idOf(workspace: WorkspaceModel | undefined): WorkspaceId {
  return (workspace?.id ?? 'ws_none') as WorkspaceId
}
