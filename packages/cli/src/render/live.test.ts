import { stripVTControlCharacters } from 'node:util'
import type { Ticks } from '@parley/core'
import { expect, test } from 'vitest'
import { changeLines } from '../live/changes.ts'
import { at, gateView, NO_USAGE, runView, taskView } from '../testing/views.ts'
import { liveFrame, totalLine } from './live.ts'
import { coloured, plain } from './paint.ts'
import { widthOf } from './text.ts'

const now = ((Date.UTC(2026, 0, 1) + 75_000) * 1000) as Ticks
const tasks = [
  taskView('scan', {
    title: 'Scan the house',
    state: 'done',
    attempt: 1,
    started: at(1),
    ended: at(13),
    usage: { ...NO_USAGE, turns: 1, usd: 0.02 },
  }),
  taskView('clean', {
    title: 'Clean the kitchen',
    agent: 'cleaner',
    needs: ['scan'],
    state: 'working',
    attempt: 2,
    started: at(14),
    activity: '\u001b[31mwiping the 台所 table\u0007 now',
    usage: { ...NO_USAGE, turns: 2, usd: 0.11 },
  }),
  taskView('paint', {
    title: 'Paint the wall',
    needs: ['scan'],
    state: 'failed',
    attempt: 2,
    started: at(14),
    ended: at(60),
    note: 'no paint left',
  }),
  taskView('report', { title: 'Write the report', needs: ['clean', 'paint'], refused: ['secret.txt'] }),
]
const view = runView({ tasks, usage: { ...NO_USAGE, tokens_in: 1200, tokens_out: 300, usd: 0.13 } })
const frame = (width: number, height = 30) => liveFrame(view, { width, height, now, paint: plain }).join('\n')

test('on 80 columns: the tree with agent, attempt, time and spend, what each does, and the total', () => {
  expect(frame(80)).toBe(
    `
Tidy the house  run_aaaaaa
└─ ✓ Scan the house                             writer              12s  $0.02
   ├─ ● Clean the kitchen                       cleaner  try 2/2  1m01s  $0.11
   │    wiping the 台所 table now
   └─ ✗ Paint the wall                          writer   try 2/2    46s
        no paint left
      └─ · Write the report (also after clean)  writer
           not allowed, reverted: secret.txt
working · 1/4 done · 1m15s · $0.13 · 1.2k tokens in, 300 out`.trimStart(),
  )
})

test('on 40 columns: what matters less goes, what is too long is cut', () => {
  expect(frame(40)).toBe(
    `
Tidy the house  run_aaaaaa
└─ ✓ Scan the house                  12s
   ├─ ● Clean the kitchen          1m01s
   │    wiping the 台所 table now
   └─ ✗ Paint the wall               46s
        no paint left
      └─ · Write the report (als…
           not allowed, reverted:
           secret.txt
working · 1/4 done · 1m15s · $0.13`.trimStart(),
  )
})

test('no line of a frame is wider than the terminal', () => {
  for (let width = 20; width <= 100; width++) {
    for (const line of frame(width).split('\n')) expect(widthOf(line)).toBeLessThanOrEqual(width)
  }
})

test('no frame is higher than the terminal: what is dull is counted, what happens is shown', () => {
  expect(frame(60, 6)).toBe(
    `
Tidy the house  run_aaaaaa
   ├─ ● Clean the kitchen     cleaner  try 2/2  1m01s  $0.11
   └─ ✗ Paint the wall        writer   try 2/2    46s
   … and 1 done, 1 waiting
working · 1/4 done · 1m15s · $0.13 · 1.2k tokens in, 300 out`.trimStart(),
  )
  const many = runView({
    tasks: Array.from({ length: 200 }, (_, index) => taskView(`t${index}`, { state: 'working', activity: 'busy' })),
  })
  for (const height of [3, 5, 10, 40]) {
    expect(liveFrame(many, { width: 80, height, now, paint: plain }).length).toBeLessThanOrEqual(height)
  }
})

test('colours are added only by the paint, and change no text', () => {
  const painted = liveFrame(view, { width: 80, height: 30, now, paint: coloured }).join('\n')
  expect(painted).toContain('\u001b[36m●\u001b[39m')
  expect(stripVTControlCharacters(painted)).toBe(frame(80))
})

test('who judges the work is shown with what was said last', () => {
  const judged = runView({ tasks: [taskView('poem', { state: 'reviewing', activity: 'check: npm test · ok 3' })] })
  expect(liveFrame(judged, { width: 80, height: 9, now, paint: plain })).toContain('     check: npm test · ok 3')
})

test('a run that waits for somebody says so', () => {
  const waiting = runView({ state: 'waiting', gates: [gateView('run_1', 'plan')] })
  expect(totalLine(waiting, { width: 80, now, paint: plain })).toBe('waits for you · 0/0 done · 1m15s')
})

test('a run whose only work is suspended says so', () => {
  const spent = { working: 0, person: 0, slot: 0, other: 0 }
  const suspended = runView({
    state: 'working',
    times: { ...spent, doing: 'person', since: '2026-01-01T00:00:00.000000Z' },
  })
  expect(totalLine(suspended, { width: 80, now, paint: plain })).toMatch(/^suspended · /)
})

test('without a terminal: one line for each change of a state or an attempt, and none for anything else', () => {
  expect(changeLines(undefined, view, { now })).toEqual([
    '[1/4] ✓ Scan the house (writer) done 12s $0.02',
    '[1/4] ● Clean the kitchen (cleaner) working attempt 2 of 2',
    '[1/4] ✗ Paint the wall (writer) failed attempt 2 of 2 46s: no paint left',
  ])
  expect(changeLines(view, { ...view, cursor: 9 }, { now })).toEqual([])
  const next = {
    ...view,
    tasks: view.tasks.map(task => (task.id === 'clean' ? { ...task, activity: 'other' } : task)),
  }
  expect(changeLines(view, next, { now })).toEqual([])
  const done = {
    ...view,
    tasks_done: 2,
    tasks: view.tasks.map(task => (task.id === 'clean' ? { ...task, state: 'done' as const, ended: at(70) } : task)),
  }
  expect(changeLines(view, done, { now })).toEqual([
    '[2/4] ✓ Clean the kitchen (cleaner) done attempt 2 of 2 56s $0.11',
  ])
})
