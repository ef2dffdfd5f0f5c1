// Workspaces that another agent takes over, and workspaces that are asked to wind down.
import type { Dice } from '../random.ts'
import { above, anyone, idOf, type Scene, someone, speak } from './scene.ts'

/** How often each comes. */
export const successionCommands = {
  migrate: 2,
  take_over: 1,
  terminate: 1,
  consult: 1,
} as const

/** What becomes of an agent that is to be prepared: it is ready at once, never, or when somebody says so. */
export type Preparation = 'at_once' | 'fails' | 'waits'

const SUCCESSORS = ['next#1', 'next#2', 'next#3', 'next#4', 'next#5', 'next#6']

export const successionHandlers: Readonly<Record<keyof typeof successionCommands, (scene: Scene) => void>> = {
  migrate: scene => {
    const { dice, world } = scene
    const target = mostlyAtWork(scene)
    const old = target && world.agents.get(target.id)
    const successor = dice.chance(0.97) ? dice.pick(SUCCESSORS) : (old?.agent ?? '')
    const reason = dice.chance(0.97) ? 'another is better at it' : ''
    speak(scene, above(scene, target), agent => {
      world.preparation = preparation(dice)
      // What becomes of it may take longer than a step: whoever waits for it is not waited for.
      void agent.migrate(idOf(target), successor, reason).then(done => {
        if (done.ok) void old?.started()
      })
      return Promise.resolve()
    })
  },
  take_over: ({ world }) => world.takeOver(),
  terminate: scene => {
    const { dice } = scene
    const target = mostlyAtWork(scene)
    const grace = dice.chance(0.97) ? dice.pick([1, 500, 5000, 60_000]) : 0
    speak(scene, above(scene, target), agent => agent.terminate(idOf(target), grace, 'enough'))
  },
  consult: scene => {
    const target = scene.dice.chance(0.2) ? anyone(scene) : mostlyAtWork(scene)
    speak(scene, scene.dice.chance(0.8) ? scene.run.root : above(scene, target), agent =>
      agent.consult(idOf(target), 'which way?'),
    )
  },
}

function preparation(dice: Dice): Preparation {
  return dice.pick(['at_once', 'at_once', 'at_once', 'fails', 'waits', 'waits'])
}

function mostlyAtWork(scene: Scene) {
  if (scene.dice.chance(0.1)) return anyone(scene)
  return someone(scene, each => (each.status === 'active' || each.status === 'blocked') && each.parent !== null)
}
