import { ManualClock } from '@parley/core'
import { expect, test } from 'vitest'
import { FakeTerminal, screenOf } from '../testing/terminal.ts'
import { Screen } from './screen.ts'

function setUp() {
  const terminal = new FakeTerminal({ live: true })
  const clock = new ManualClock()
  const state = { lines: ['one'] }
  let drawings = 0
  const screen = new Screen(terminal, clock, () => {
    drawings++
    return state.lines
  })
  return { terminal, clock, state, screen, drawings: () => drawings }
}

test('a frame replaces the one before it in place, whether it is longer or shorter', () => {
  const { terminal, clock, state, screen } = setUp()
  terminal.out('above\n')
  screen.changed()
  state.lines = ['one', 'two', 'three']
  clock.advance(100)
  screen.changed()
  expect(screenOf(terminal.output)).toEqual(['above', 'one', 'two', 'three'])
  state.lines = ['last']
  clock.advance(100)
  screen.changed()
  expect(screenOf(terminal.output)).toEqual(['above', 'last'])
})

test('at most ten drawings a second, and the newest state is always drawn', () => {
  const { terminal, clock, state, screen, drawings } = setUp()
  for (let ms = 0; ms < 1000; ms++) {
    state.lines = [`at ${ms}`]
    screen.changed()
    clock.advance(1)
  }
  expect(drawings()).toBeLessThanOrEqual(11)
  clock.advance(100)
  expect(screenOf(terminal.output)).toEqual(['at 999'])
})

test('times move on once a second where nothing happens', () => {
  const { clock, screen, drawings } = setUp()
  screen.changed()
  screen.tick()
  clock.advance(3000)
  expect(drawings()).toBe(4)
})

test('what is written after the end comes below the last frame, and nothing is drawn any more', () => {
  const { terminal, clock, state, screen, drawings } = setUp()
  screen.changed()
  screen.tick()
  state.lines = ['final']
  screen.finish()
  const before = drawings()
  clock.advance(5000)
  terminal.out('below\n')
  expect(drawings()).toBe(before)
  expect(clock.pending).toBe(0)
  expect(screenOf(terminal.output)).toEqual(['final', 'below'])
})

test('a frame that was taken away leaves no trace', () => {
  const { terminal, screen } = setUp()
  terminal.out('above\n')
  screen.changed()
  screen.clear()
  terminal.out('question\n')
  expect(screenOf(terminal.output)).toEqual(['above', 'question'])
})
