// The machine that a node works on, watched from its start.
import { Machine, probeMachine } from '@parley/coordinator'
import type { Clock } from '@parley/core'
import type { NodeLog } from '../log/log.ts'
import type { ProfilePaths } from './paths.ts'
import { Reserve } from './reserve.ts'

/** A node that starts on a full disk is held up from the start, and has the room that was kept for that. */
export async function watchMachine(paths: ProfilePaths, clock: Clock, log: NodeLog): Promise<Machine> {
  const warn = (why: string) =>
    log.warn(`No room is kept for a full disk: ${why}. The node works without it.`, { file: paths.reserve })
  const reserve = new Reserve(paths.reserve, warn)
  const machine = new Machine({
    clock,
    folder: paths.folder,
    probe: probeMachine,
    reserve,
    log: (level, message, facts) => log[level](message, facts),
  })
  const fault = await machine.look()
  const missing = fault ? undefined : await reserve.layOut()
  if (missing !== undefined) warn(missing)
  return machine
}
