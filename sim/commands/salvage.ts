// Failed workspaces of which something is saved: what their integrators begin, judge, quarrel about and give up.
import type { CheckpointId } from '@parley/core'
import type { WorkspaceModel } from '../model/records.ts'
import { isOpen, salvageTarget } from '../model/salvage.ts'
import type { Dice } from '../random.ts'
import { checkpointDraft, conflictReports } from './drafts.ts'
import { anyone, idOf, type Scene, someone, speak } from './scene.ts'

/** How often each comes. */
export const salvageCommands = {
  wreck: 1.5,
  salvage: 4,
  save: 2,
  discard: 1,
  quarrel: 2,
  reconcile: 2,
} as const

export const salvageHandlers: Readonly<Record<keyof typeof salvageCommands, (scene: Scene) => void>> = {
  // Somebody hands something in and fails, so that there is something to save.
  wreck: scene => {
    const { dice } = scene
    const victim = someone(scene, each => each.status === 'active' && each.parent !== null)
    if (!victim) return
    const draft = { ...checkpointDraft(dice, victim), ...(dice.chance(0.5) && { status: 'final' }) }
    speak(scene, victim, async agent => {
      if (dice.chance(0.7)) await agent.checkpoint(draft as never)
      await agent.failed(dice.chance(0.95) ? 'the model broke' : '')
    })
  },
  salvage: scene => {
    const { dice } = scene
    const source = someone(scene, each => each.status === 'failed' && each.parent !== null && each.register.length > 0)
    if (source?.status !== 'failed' && dice.chance(0.9)) return
    const chosen = dice.chance(0.3) ? dice.maybe(source?.register ?? []) : undefined
    const options = {
      ...(chosen !== undefined && { checkpoint: chosen as CheckpointId }),
      ...(dice.chance(0.2) && { basis: dice.chance(0.9) ? 'what is left' : '' }),
      ...(dice.chance(0.1) && { strategy: dice.pick(['direct', 'layered', 'evaluated']) as never }),
    }
    const next = dice.pick(['save', 'discard', 'quarrel', 'wait', 'wait', 'wait'])
    speak(scene, integrator(scene, source), async agent => {
      const begun = await agent.salvage(idOf(source), options)
      if (!begun.ok) return
      if (next === 'save') await agent.mergeSalvage(idOf(source), { kept: 1 })
      if (next === 'discard') await agent.discardSalvage(idOf(source))
      if (next === 'quarrel') await agent.reportConflicts(idOf(source), conflictReports(dice) as never)
    })
  },
  save: scene => {
    const source = underSalvage(scene)
    const result = scene.dice.chance(0.5) ? { kept: 2 } : undefined
    speak(scene, integrator(scene, source), agent => agent.mergeSalvage(idOf(source), result))
  },
  discard: scene => {
    const source = underSalvage(scene)
    const fails = scene.dice.chance(0.3)
    speak(scene, integrator(scene, source), agent =>
      fails ? agent.failIntegration(idOf(source)) : agent.discardSalvage(idOf(source)),
    )
  },
  quarrel: scene => {
    const source = underSalvage(scene)
    const found = conflictReports(scene.dice)
    speak(scene, integrator(scene, source), agent => agent.reportConflicts(idOf(source), found as never))
  },
  reconcile: scene => {
    const { dice, run } = scene
    const source = someone(scene, each => {
      const salvage = run.salvages.get(each.id)
      return isOpen(salvage) && salvage.conflicts.size > 0
    })
    const conflict = dice.maybe([...(run.salvages.get(source?.id ?? '')?.conflicts ?? [])])
    const strategy = resolution(dice)
    const result = dice.chance(0.2) ? { kept: 3 } : undefined
    speak(scene, integrator(scene, source), agent =>
      agent.resolveConflict(idOf(source), conflict ?? 'conflict_none', strategy as never, 'both', result),
    )
  },
}

function resolution(dice: Dice): string {
  return dice.pick(['coordinator_resolve', 'coordinator_resolve', 'coordinator_resolve', 'escalate', 'agent_rework'])
}

function underSalvage(scene: Scene): WorkspaceModel | undefined {
  return someone(scene, each => isOpen(scene.run.salvages.get(each.id)))
}

/** Whose business it is; now and then the root or anyone. */
function integrator(scene: Scene, source: WorkspaceModel | undefined): WorkspaceModel | undefined {
  const { dice, run } = scene
  if (!source) return undefined
  if (dice.chance(0.05)) return anyone(scene)
  return dice.chance(0.9) ? run.workspaces.get(salvageTarget(run, source.id) ?? '') : run.root
}
