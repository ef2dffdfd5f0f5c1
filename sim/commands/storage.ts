// Housekeeping between all the rest: what is moved, deleted, frozen and signed anew, while runs go on.
import { isOver } from '../model/records.ts'
import { anyone, type Scene } from './scene.ts'

/** How often each comes; in worlds without housekeeping nothing comes of it. */
export const storageCommands = {
  compact: 0.8,
  compact_run: 1.2,
  archive: 1,
  reclaim: 0.5,
  expire: 0.6,
  delete_archive: 0.5,
  snapshot: 0.4,
  replicate: 0.2,
  restore: 0.1,
  replica: 0.3,
  rotate: 0.5,
} as const

const HOUR = 3_600_000

export const storageHandlers: Readonly<Record<keyof typeof storageCommands, (scene: Scene) => void>> = {
  compact: scene => {
    const { dice, run } = scene
    const over = dice.maybe([...run.workspaces.values()].filter(each => isOver(each.status)))
    const target = dice.chance(0.9) ? over : anyone(scene)
    if (target) housekeeper(scene)?.compact(run, target.id)
  },
  compact_run: scene => {
    const storage = housekeeper(scene)
    const run = storage && scene.dice.maybe(storage.finished)
    if (run) storage.compactRun(run, scene.dice.chance(0.8) ? 99 : 1)
  },
  // The whole way, as far as it goes.
  archive: scene => {
    const { dice } = scene
    const storage = housekeeper(scene)
    const run = storage && dice.maybe(storage.finished)
    if (!run) return
    storage.compactRun(run, 99)
    if (dice.chance(0.7)) storage.reclaim()
    if (dice.chance(0.7)) storage.expire(run, 0)
    if (dice.chance(0.4)) storage.snapshot(run, run.seq)
    if (dice.chance(0.3)) storage.deleteArchive(run, 0, manifests => dice.maybe(manifests)?.archive ?? 99)
  },
  reclaim: scene => housekeeper(scene)?.reclaim(),
  expire: scene => {
    const storage = housekeeper(scene)
    const run = storage && scene.dice.maybe(storage.finished)
    if (run) storage.expire(run, scene.dice.pick([0, 0, 0, HOUR, 24 * HOUR]))
  },
  delete_archive: scene => {
    const { dice } = scene
    const storage = housekeeper(scene)
    const run = storage && dice.maybe(storage.finished)
    const cold = dice.pick([0, 0, HOUR, 24 * HOUR])
    if (run) storage.deleteArchive(run, cold, manifests => dice.maybe(manifests)?.archive ?? 99)
  },
  snapshot: scene => {
    const { dice } = scene
    const storage = housekeeper(scene)
    const run = storage && (dice.chance(0.9) ? dice.maybe(storage.finished) : scene.run)
    if (run) storage.snapshot(run, dice.chance(0.6) ? run.seq : dice.between(1, run.seq + 1))
  },
  replicate: scene => housekeeper(scene)?.replicate(),
  restore: scene => housekeeper(scene)?.restore(),
  replica: scene => housekeeper(scene)?.replica(scene.dice.pick(['away', 'full', 'back', 'back', 'back'])),
  rotate: scene => {
    const { world, dice } = scene
    if (world.config.signed) world.storage.rotate(dice.chance(0.7))
  },
}

function housekeeper({ world }: Scene) {
  return world.config.tiers ? world.storage : undefined
}
