import { expect, test } from 'vitest'
import { fakeNode } from '../testing/fake-node.ts'
import { parley } from '../testing/parley.ts'
import { gateView, runView } from '../testing/views.ts'
import type { GateView } from '../views.ts'

const one = 'run_01m7aaaaaaaaaaaaaaaaaaaaaa'
const two = 'run_01m8bbbbbbbbbbbbbbbbbbbbbb'
const view = runView()

function gated(...gates: GateView[]) {
  const answers: unknown[] = []
  const node = fakeNode({
    gates: async () => gates,
    show: async () => view,
    respond: async (...answer) => {
      answers.push(answer)
      return { run: one }
    },
  })
  return { node, answers }
}

test('approve and reject find the gate: the only one, by run, by a beginning, by its id', async () => {
  const { node, answers } = gated(gateView(one, 'plan'), gateView(two, 'plan'))
  expect((await parley(['approve', 'run_01m8'], { node })).code).toBe(0)
  expect((await parley(['reject', `${one}:plan`, '--reason', ' too much '], { node })).code).toBe(0)
  expect((await parley(['approve', 'last'], { node })).code).toBe(0)
  expect((await parley(['approve', 'run_01m7aaaaaa:plan'], { node })).code).toBe(0)
  expect(answers).toEqual([
    [`${two}:plan`, 'approve', undefined],
    [`${one}:plan`, 'reject', 'too much'],
    [`${one}:plan`, 'approve', undefined],
    [`${one}:plan`, 'approve', undefined],
  ])
  const only = gated(gateView(two, 'plan'))
  expect((await parley(['approve'], { node: only.node })).out).toContain('Approved: plan?')
  expect(only.answers).toEqual([[`${two}:plan`, 'approve', undefined]])
})

test('a gate that is not clear is refused and nothing is answered', async () => {
  const { node, answers } = gated(gateView(one, 'plan'), gateView(two, 'plan'))
  expect(await parley(['approve'], { node })).toMatchObject({ code: 3 })
  expect(await parley(['approve', 'run_01'], { node })).toMatchObject({ code: 3 })
  expect(await parley(['approve', 'run_02'], { node })).toMatchObject({ code: 3 })
  expect(await parley(['approve'], gated())).toMatchObject({ code: 3 })
  expect(answers).toEqual([])
})

test('a question takes a reply, a plan does not', async () => {
  const { node, answers } = gated(gateView(one, 'scan', 'question'), gateView(one, 'clean', 'question'))
  const wrong = await parley(['approve', 'run_01m7:scan'], { node })
  expect(wrong.code).toBe(5)
  expect(wrong.err).toContain('next: parley reply run_01m7aaaaaa:scan "…"')
  expect((await parley(['reply', 'run_01m7:scan', 'The upper one'], { node })).code).toBe(0)
  expect(answers).toEqual([[`${one}:scan`, 'reply', 'The upper one']])
  expect((await parley(['reply', one, 'x'], gated(gateView(one, 'plan')))).code).toBe(5)
})

test('gates lists what waits, or says that nothing does', async () => {
  expect((await parley(['gates'], gated(gateView(one, 'plan')))).out).toBe(
    'RUN             WAITS  QUESTION  GATE\nrun_01m7aaaaaa   0.0s  plan?     run_01m7aaaaaa:plan\n',
  )
  expect((await parley(['gates'], gated())).out).toBe('Nothing waits for you.\n')
})

test('abort needs a run to be named', async () => {
  expect((await parley(['abort'])).code).toBe(2)
  const ended: unknown[] = []
  const node = fakeNode({ show: async () => view, abort: async (...of) => void ended.push(of) })
  expect((await parley(['abort', 'last', '--reason', 'wrong'], { node })).code).toBe(0)
  expect(ended).toEqual([[one, 'wrong']])
})

test('a reason that is too long is refused before anything happens', async () => {
  const node = fakeNode({ show: async () => view })
  expect((await parley(['abort', 'last', '--reason', 'x'.repeat(3000)], { node })).code).toBe(2)
})
