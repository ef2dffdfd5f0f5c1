import type { RunView } from '../node/views.ts'
import { type Answering, type Brought, fakeNode, following } from './fake-node.ts'
import { parley } from './parley.ts'
import { at, gateView, runView, taskView } from './views.ts'

export const run = 'run_01m7aaaaaaaaaaaaaaaaaaaaaa'
export const plan = gateView(run, 'scan', { question: 'May writer do "Scan the house"?' })
const tasks = [taskView('scan', { title: 'Scan the house' })]
export const waiting = runView({ state: 'waiting', tasks, gates: [plan] })
export const working = runView({
  tasks: [taskView('scan', { title: 'Scan the house', state: 'working', attempt: 1, started: at(0) })],
})
export const done = runView({
  state: 'done',
  ended: at(5),
  tasks: [taskView('scan', { title: 'Scan the house', state: 'done', attempt: 1, started: at(0), ended: at(5) })],
  result: { commit: 'c'.repeat(40), base: 'b'.repeat(40), branch: 'parley/tidy', files: ['report.md'] },
})
export const aborted: RunView = { ...done, state: 'aborted' }

export type Follow = Answering<'/runs/follow'>

export function node(follow: Follow, more: Brought = {}) {
  const answers: unknown[] = []
  const api = fakeNode({
    '/solve/start': { run, warnings: [] },
    '/runs/follow': follow,
    '/gates/respond': async answer => {
      answers.push(answer)
      return { run, gates: [answer.gate] }
    },
    '/escalations/respond': async answer => {
      answers.push(answer)
      return { run }
    },
    ...more,
  })
  return { api, answers }
}

/** A node that starts every run, which is done at once. */
export const starting = (more: Brought = {}) =>
  fakeNode({ '/solve/start': { run, warnings: [] }, '/runs/follow': following([done]), ...more })

export const solve = (around: Parameters<typeof parley>[1], ...flags: string[]) =>
  parley(['solve', 'Tidy the house', '--agent', 'a', ...flags], around)
