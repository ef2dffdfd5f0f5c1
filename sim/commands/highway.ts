// What people do: answer gates and escalations, write to agents, step in, come and go. Late, wrongly, twice or never,
// as the seed and the state of the world have it.

import type { GateId, SignalId, WorkspaceId } from '@parley/core'
import type { UserHandle } from '@parley/kernel'
import { CAPABILITIES } from '@parley/trail/events'
import { checkUserPage } from '../checks/pages.ts'
import { PEOPLE } from '../world/config.ts'
import { budgetDraft, payload } from './drafts.ts'
import { escalationAnswer, modifications } from './highway-drafts.ts'
import { anyone, idOf, type Scene, speak } from './scene.ts'

/** How often each comes. */
export const highwayCommands = {
  answer: 9,
  twice: 1,
  reply: 3,
  inject: 3,
  interfere: 2,
  people: 3,
  decide: 3,
  again: 3,
  pry: 1,
  pose: 0.6,
} as const

export const highwayHandlers: Readonly<Record<keyof typeof highwayCommands, (scene: Scene) => void>> = {
  answer: scene => answer(scene, 1),
  // Two people, or one who forgot.
  twice: scene => answer(scene, 2),
  reply: scene => {
    const { dice, run } = scene
    const escalation = dice.maybe([...run.escalations.values()])
    if (!escalation && dice.chance(0.8)) return
    const owner = run.workspaces.get(escalation?.workspace ?? '')?.owner
    as(scene, owner, user =>
      user.answerEscalation(
        run.id as never,
        (escalation?.signal ?? 'sig_none') as SignalId,
        escalationAnswer(dice) as never,
      ),
    )
  },
  inject: scene => {
    const { dice, run } = scene
    const to = dice.chance(0.4) ? run.root : anyone(scene)
    const type = dice.chance(0.9) ? dice.pick(['directive', 'feedback']) : 'shout'
    const draft: Record<string, unknown> = { to: idOf(to), type, payload: payload(dice) }
    if (dice.chance(0.2)) draft.priority = dice.pick(['urgent', 'blocking'])
    if (dice.chance(0.05)) draft.rights = [{ type: 'send', target: idOf(to) }]
    if (dice.chance(0.05)) delete draft.to
    as(scene, to?.owner, user => user.inject(run.id as never, draft as never))
  },
  interfere: scene => {
    const { dice, run } = scene
    const target = anyone(scene)
    const id = idOf(target)
    const runId = run.id as never
    as(scene, target?.owner, user =>
      dice.pick([
        () => user.abort(runId, id),
        () => user.suspend(runId, id, dice.chance(0.95) ? 'wait' : ''),
        () => user.resume(runId, id),
        () => user.resume(runId, id),
        () => user.raiseBudget(runId, id, budgetDraft(dice) as never),
        () => user.transferOwnership(runId, id, dice.pick([...PEOPLE, 'stranger']), 'a new owner'),
      ])(),
    )
  },
  people: ({ world, dice }) => {
    if (world.config.people !== 'house') return
    const { users } = world.runtime
    const user = dice.chance(0.95) ? dice.pick(PEOPLE) : dice.pick(['stranger', 'worker', ''])
    const why = {
      reason: dice.chance(0.95) ? 'because' : '',
      ...(dice.chance(0.2) && { by: dice.pick(PEOPLE) }),
    }
    const capability = dice.pick(CAPABILITIES)
    world.launch(() =>
      dice.pick<() => Promise<unknown>>([
        () => users.accept({ user, method: 'password' }),
        () => users.suspend(user, why),
        () => users.resume(user, why),
        () => users.resume(user, why),
        () => users.block(user, why),
        () => users.unblock(user, why),
        () => users.unblock(user, why),
        () => users.deactivate(user, why),
        () => users.reactivate(user, why),
        () => users.reactivate(user, why),
        () => users.grant(user, capability, why.by),
        () => users.grant(user, capability, why.by),
        () => users.revoke(user, capability, why),
        () => users.reject({ entity: user, context: 'login', reason: 'invalid_credential', source: 'here' }),
      ])(),
    )
  },
  // The coordinator decides what fell to it, or what did not.
  decide: scene => {
    const { world, dice, run } = scene
    if (!dice.chance(world.config.coordinators)) return
    const gates = [...run.gates.values()]
    const gate = dice.chance(0.9) ? dice.maybe(gates.filter(each => each.handedOver !== null)) : dice.maybe(gates)
    if (!gate && dice.chance(0.9)) return
    const action = dice.chance(0.95) ? dice.pick(['approve', 'reject'] as const) : ('modify' as never)
    const by = dice.chance(0.95) ? run.root : anyone(scene)
    speak(scene, by, agent => agent.answerGate((gate?.id ?? 'gate_none') as GateId, action))
  },
  // Whoever was told to wait asks once more: while it waits, after it fell to the coordinator, after a fallback.
  again: scene => {
    const { dice, run } = scene
    const ends = [...run.gateEnds.values()]
      .filter(({ actor }) => actor === 'fallback' || actor === 'system')
      .map(({ gate }) => gate)
    const gate = dice.maybe([...run.gates.values(), ...ends])
    const asked = (gate?.paused ?? {}) as Readonly<Record<string, string>>
    const source = asked.source as WorkspaceId
    speak(scene, run.workspaces.get(asked.caller ?? ''), agent => {
      switch (gate?.type) {
        case 'workspace_create':
          return agent.createWorkspace(asked.draft as never)
        case 'integration':
          return asked.accept ? agent.accept(source, asked.strategy) : agent.beginIntegration(source)
        case 'conflict_resolution':
          return agent.resolveConflict(source, asked.conflict!, asked.strategy as never, 'once more')
        case 'workspace_abort':
          return asked.group === undefined ? agent.abort(asked.workspace as WorkspaceId) : agent.batchAbort(asked.group)
        default:
          return Promise.resolve()
      }
    })
  },
  pry: scene => {
    const { dice, run } = scene
    const workspace = idOf(anyone(scene))
    const query = dice.pick([{ limit: 3 }, { scope: 'local', workspace, limit: 3 }, { nonsense: 1 }])
    as(scene, dice.pick(PEOPLE), async user => {
      const page = await user.query(run.id as never, query as never)
      if (page.ok) checkUserPage(scene.world, run, user.id, page.value.entries)
    })
  },
  // Somebody who is not the agent of a workspace.
  pose: ({ world, dice, run }) => {
    const handle = world.runs.get(run.id)
    const workspace = dice.maybe([...run.workspaces.keys()]) ?? 'ws_none'
    if (handle) world.launch(() => handle.attach(workspace as WorkspaceId, dice.pick(['thief', ''])))
  },
}

function answer(scene: Scene, times: number): void {
  const { dice, run } = scene
  const gate = dice.maybe([...run.gates.values()])
  if (!gate && dice.chance(0.9)) return
  const id = (gate?.id ?? 'gate_none') as GateId
  const reason = dice.chance(0.1) ? 'thought about it' : undefined
  const changes = modifications(dice, run, gate)
  const how = dice.pick(['approve', 'approve', 'approve', 'reject', 'modify', 'modify'] as const)
  for (let count = times; count > 0; count--)
    as(scene, gate?.addressee, user => {
      if (how === 'modify') return user.modify(run.id as never, id, changes, reason)
      return user[how](run.id as never, id, reason)
    })
}

/** Whoever it concerns acts, now and then somebody else; some seeds have people who seldom do, or never. */
function as({ world, dice }: Scene, who: string | undefined, call: (user: UserHandle) => Promise<unknown>): void {
  if (!dice.chance(world.config.humans)) return
  const known = who !== undefined && (PEOPLE as readonly string[]).includes(who)
  const id = known && dice.chance(0.75) ? who : dice.chance(0.95) ? dice.pick(PEOPLE) : 'stranger'
  world.launch(() => call(world.runtime.user(id)))
}
