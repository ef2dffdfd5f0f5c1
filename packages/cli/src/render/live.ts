// One frame of the live view: the head, the tree of tasks, the total. Lines that have scrolled away cannot be redrawn,
// so a frame fits the height: idle tasks are left out and counted.
import { isOver, type ListedState, type PlanTaskView, type RunView } from '../node/views.ts'
import { between, duration, shortId, spendParts } from './format.ts'
import { heldLine } from './machine.ts'
import type { Tone } from './paint.ts'
import { type Drawing, type TaskLine, taskLines } from './tasks.ts'
import { cut, oneLine } from './text.ts'

export const RUN_TONES: Readonly<Record<ListedState, Tone>> = {
  waiting: 'warning',
  working: 'active',
  done: 'good',
  failed: 'bad',
  rejected: 'bad',
  aborted: 'bad',
  damaged: 'bad',
}

export function liveFrame(view: RunView, drawing: Drawing & { readonly height: number }): readonly string[] {
  const { width, paint, height } = drawing
  const id = shortId(view.run)
  const room = width - id.length - 2
  const title = cut(oneLine(view.intent), room)
  const head = `${paint('strong', title)}${room >= 10 ? `  ${paint('quiet', id)}` : ''}`
  const held = view.machine ? [heldLine(view.machine, drawing, width)] : []
  const tasks = inHeight(taskLines(view.tasks, drawing), Math.max(1, height - 2 - held.length), drawing)
  return [head, ...tasks, ...held, ...(isOver(view.state) ? [] : [totalLine(view, drawing)])]
}

/** `working · 3/10 done · 1m05s · $0.02 · 1.2k tokens in, 300 out`, as much of it as fits. */
export function totalLine(view: RunView, { width, now, paint }: Drawing): string {
  const elapsed = between(view.started, view.ended, now) ?? 0
  const waits = isOver(view.state) ? view.state : waitsText(view)
  const parts = [`${view.tasks_done}/${view.tasks_total} done`, duration(elapsed), ...spendParts(view.usage)]
  let rest = ''
  for (const part of parts) {
    if (`${waits}${rest} · ${part}`.length <= width) rest += ` · ${part}`
  }
  return `${paint(RUN_TONES[view.state], cut(waits, width))}${rest}`
}

function waitsText({ state, machine, gates, waits, times }: RunView): string {
  if (machine) return `held up by the machine (${machine.code})`
  // A person has suspended all that could go on, and is asked nothing.
  if (gates.length === 0) return state === 'working' && times?.doing === 'person' ? 'suspended' : state
  // A plan is one question.
  if (state === 'waiting') return 'waits for you'
  const things = gates.length > 1 ? `${gates.length} things wait for you` : 'waits for you'
  // Nobody works meanwhile.
  return waits?.alone ? things : `${state}, ${things}`
}

/** What is left out first. */
const DULL: readonly (readonly PlanTaskView['state'][])[] = [
  ['cancelled', 'waiting'],
  ['done', 'ready'],
]

function inHeight(all: readonly TaskLine[], height: number, { paint, width }: Drawing): readonly string[] {
  const sum = (list: readonly TaskLine[]) => list.reduce((lines, each) => lines + each.lines.length, 0)
  if (sum(all) <= height) return all.flatMap(({ lines }) => lines)
  const room = height - 1
  let shown: readonly TaskLine[] = all
  for (const states of DULL) {
    const over = () => sum(shown) > room
    for (let index = shown.length - 1; index >= 0 && over(); index--) {
      if (states.includes(shown[index]!.task.state)) shown = shown.toSpliced(index, 1)
    }
  }
  if (sum(shown) > room) shown = shown.map(each => ({ ...each, lines: each.lines.slice(0, 1) }))
  shown = shown.slice(0, room)
  const hidden = all.filter(({ task }) => !shown.some(each => each.task.id === task.id))
  const counts = Object.entries(Object.groupBy(hidden, ({ task }) => task.state))
  const text = counts.map(([state, list]) => `${list!.length} ${state}`).join(', ')
  const more = text === '' ? [] : [paint('quiet', cut(`   … and ${text}`, width))]
  return [...shown.flatMap(({ lines }) => lines), ...more]
}
