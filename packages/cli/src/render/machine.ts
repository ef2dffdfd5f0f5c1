// What holds a node up, for people: since when, what, and what comes of it.
import type { MachineView } from '../node/views.ts'
import { between, duration } from './format.ts'
import type { Drawing } from './tasks.ts'
import { cut, oneLine } from './text.ts'

export const SOUND_AGAIN = 'The machine is sound again: the work goes on.'

/** `Held up by the machine: the disk is full (ENOSPC at /home/mira). … (for 2m)` */
export function heldLine(
  { message, since }: MachineView,
  { now, paint }: Pick<Drawing, 'now' | 'paint'>,
  width = Number.POSITIVE_INFINITY,
): string {
  const lasted = duration(between(since, undefined, now) ?? 0)
  return paint('warning', cut(`${oneLine(message)} (for ${lasted})`, width))
}
