// What coordinators and delegates do with a team: owners, sight, priorities, groups, budgets, orphans, conflicts; and
// what hosts measure.
import type { WorkspaceId } from '@parley/core'
import { isOver } from '../model/records.ts'
import type { Dice } from '../random.ts'
import { PEOPLE } from '../world/config.ts'
import { budgetDraft, checkpointDraft, conflictReports, envelopeDraft, payload } from './drafts.ts'
import { above, anyone, completed, idOf, leader, type Scene, someone, speak } from './scene.ts'

/** How often each comes. */
export const teamCommands = {
  found: 4,
  staff: 9,
  topple: 2,
  escalate: 3,
  meter: 7,
  raise: 2,
  prioritize: 1,
  prioritize_group: 0.6,
  abort_group: 0.4,
  transfer: 1.5,
  adopt: 1.5,
  show: 2,
  degrade: 0.3,
  deliver: 8,
  layer: 3,
  evaluate: 4,
  settle: 5,
  seal: 1,
} as const

const OWNERS = ['ux', 'ux', 'uy', 'uy', 'uz']
const MOST_STAFF = 50
const PRIORITIES = ['critical', 'background', 'interactive', 'normal', 'highest']

export const teamHandlers: Readonly<Record<keyof typeof teamCommands, (scene: Scene) => void>> = {
  // A team inside the run,
  found: scene => {
    const { dice, run } = scene
    const draft = { role: 'worker', delegate: true, directive: payload(dice), owner: dice.pick(OWNERS) }
    speak(scene, run.root, agent => agent.createWorkspace({ ...draft, ...team(dice) } as never))
  },
  // its members, of several owners,
  staff: scene => {
    const { dice, run } = scene
    const founder = someone(scene, each => each.delegate && each.status === 'active')
    if (!founder || run.workspaces.size > MOST_STAFF) return
    const draft = { role: 'worker', directive: payload(dice), owner: dice.pick(OWNERS) }
    speak(scene, founder, agent => agent.createWorkspace({ ...draft, ...team(dice) } as never))
  },
  // and its end.
  topple: scene => {
    const { run } = scene
    const head = someone(scene, each => each.delegate && !isOver(each.status) && each.children.length > 0)
    speak(scene, run.root, agent => agent.abort(idOf(head)))
  },
  escalate: scene =>
    speak(
      scene,
      someone(scene, each => each.parent !== null && !isOver(each.status)),
      agent => agent.escalate(scene.dice.chance(0.95) ? 'what now?' : ''),
    ),
  meter: ({ world, dice, run }) => {
    const handle = world.runs.get(run.id)
    const limited = [...run.workspaces.values()].filter(each => each.budget && !isOver(each.status))
    const all = [...run.workspaces.keys()]
    const id = dice.chance(0.7) ? dice.maybe(limited)?.id : dice.maybe(all)
    if (!handle || id === undefined) return
    const usage = {
      ...(dice.chance(0.7) && { tokens: dice.int(400) }),
      ...(dice.chance(0.4) && { cost: dice.int(8) / 4 }),
      ...(dice.chance(0.3) && { context: dice.int(600) }),
      ...(dice.chance(0.02) && { tokens: -1 }),
    }
    world.launch(() => handle.meter(id as WorkspaceId, usage))
  },
  raise: scene => {
    const target = someone(scene, each => each.budget !== undefined)
    const limits = scene.dice.chance(0.5)
      ? { compute_budget: { token_limit: scene.dice.pick([2000, 9000]) } }
      : budgetDraft(scene.dice)
    speak(scene, above(scene, target), agent => agent.raiseBudget(idOf(target), limits as never))
  },
  prioritize: scene => {
    const target = anyone(scene)
    const priority = scene.dice.pick(PRIORITIES) as never
    speak(scene, above(scene, target), agent => agent.changePriority(idOf(target), priority))
  },
  prioritize_group: scene => {
    const priority = scene.dice.pick(PRIORITIES) as never
    speak(scene, leader(scene), agent => agent.batchPriority(scene.dice.pick(['team', 'none']), priority))
  },
  abort_group: scene =>
    speak(scene, leader(scene), agent => agent.batchAbort(scene.dice.pick(['team', 'crew', 'none']))),
  transfer: scene => {
    const target = anyone(scene)
    const owner = scene.dice.pick([...PEOPLE, 'stranger', 'worker'])
    speak(scene, leader(scene), agent => agent.transferOwnership(idOf(target), owner))
  },
  // Mostly an orphan, and mostly somebody who could take it.
  adopt: scene => {
    const { dice, run } = scene
    const orphan = someone(scene, each => each.orphan && !isOver(each.status))
    if (!orphan) return
    const homes = [...run.workspaces.values()].filter(
      each => each.delegate && each.owner === orphan.owner && each.status === 'active' && each !== orphan,
    )
    const parent = (dice.chance(0.8) ? dice.maybe(homes) : undefined) ?? anyone(scene)
    speak(scene, dice.chance(0.9) ? run.root : leader(scene), agent => agent.reparent(idOf(orphan), idOf(parent)))
  },
  show: scene => {
    const receiver = someone(scene, each => each.parent !== null && !isOver(each.status))
    const target = anyone(scene)
    const reason = scene.dice.chance(0.95) ? 'look at this' : ''
    speak(scene, above(scene, receiver), agent => agent.grantVisibility(idOf(receiver), idOf(target), reason))
  },
  degrade: scene =>
    speak(scene, leader(scene), agent =>
      agent.reportDegraded({ reason: 'too many failures', scope: 'systemic', action: 'wait' }),
    ),
  // A worker hands in, and its parent merges at once.
  deliver: scene => {
    const { dice, world } = scene
    const source = someone(scene, each => each.status === 'active' && each.parent !== null)
    const parent = world.agents.get(source?.parent ?? '')
    if (!source || !parent) return
    const draft = { ...checkpointDraft(dice, source), status: 'final' }
    const strategy = dice.pick(['direct', 'layered', 'layered', 'evaluated'] as const)
    speak(scene, source, async agent => {
      await agent.checkpoint(draft as never)
      await agent.complete()
      await parent.accept(agent.workspace, { strategy })
    })
  },
  layer: scene => {
    const source = completed(scene)
    const baseAware = scene.dice.chance(0.2)
    speak(scene, above(scene, source), agent =>
      agent.accept(idOf(source), { strategy: 'layered', ...(baseAware && { baseAware }) }),
    )
  },
  evaluate: scene => {
    const { dice } = scene
    const source = completed(scene)
    const strategy = 'evaluated'
    const basis = dice.chance(0.3) ? { basis: 'the oldest first' } : {}
    const next = dice.pick(['accept', 'accept', 'report', 'report', 'wait'])
    const found = conflictReports(dice)
    speak(scene, above(scene, source), async agent => {
      const begun = await agent.beginIntegration(idOf(source), { strategy, ...basis })
      if (!begun.ok) return
      if (next === 'accept') await agent.accept(idOf(source), { strategy, result: { merged: 1 } })
      if (next === 'report') await agent.reportConflicts(idOf(source), found as never)
    })
  },
  settle: scene => {
    const { dice } = scene
    const source = someone(scene, each => each.status === 'conflicted')
    const conflict = source && dice.maybe([...source.conflicts])
    const strategy = dice.pick(['coordinator_resolve', 'coordinator_resolve', 'escalate', 'agent_rework'])
    const result = dice.chance(0.2) ? { merged: 2 } : undefined
    speak(scene, above(scene, source), agent =>
      agent.resolveConflict(
        idOf(source),
        conflict ?? 'conflict_none',
        strategy as never,
        dice.chance(0.95) ? 'both' : '',
        result,
      ),
    )
  },
  // Mail with a proof of the sender's own, now and then spoiled on the way.
  seal: scene => {
    const { dice, run } = scene
    const from = someone(scene, each => each.status === 'active')
    if (!from) return
    speak(scene, from, async agent => {
      const sealed = agent.seal(envelopeDraft(dice, run, from) as never)
      if (!sealed.ok) return
      const draft = dice.chance(0.7) ? sealed.value : { ...sealed.value, type: 'feedback' }
      await agent.send(draft)
    })
    if (dice.chance(0.5)) speak(scene, from, agent => agent.checkpoint(checkpointDraft(dice, from) as never))
  },
}

/** What members of a team often have. */
function team(dice: Dice): Record<string, unknown> {
  return {
    ...(dice.chance(0.4) && { group: dice.pick(['team', 'crew']) }),
    ...(dice.chance(0.3) && { budget: budgetDraft(dice) }),
    ...(dice.chance(0.1) && { liveness_interval: 2000 }),
  }
}
