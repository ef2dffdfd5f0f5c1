// A prompt speaks only of what its agent has.
import type { AgentReach } from '@parley/core'
import { expect, test } from 'vitest'
import type { RunFacts, WorkFacts } from '../run/facts.ts'
import type { PlannedTask } from '../team/team.ts'
import { reviewPrompt, workPrompt } from './prompt.ts'

const run = { intent: 'Tidy up.' } as RunFacts
const task = { title: 'Sweep', prompt: 'Sweep the floor.', paths: ['floor/**'] } as unknown as PlannedTask
const facts = { results: [], feedback: [] } as unknown as WorkFacts
const more = { mail: [], question: undefined, guidance: [], predecessors: '' }

function told(reach: AgentReach): { readonly work: string; readonly review: string } {
  const work = workPrompt(run, task, facts, more, reach)
  const review = reviewPrompt(run, task, 'sweeper#1', { text: 'Swept.', diff: '+ clean' }, reach)
  return { work: JSON.stringify(work), review: JSON.stringify(review) }
}

test.each<[string, AgentReach, readonly string[], readonly string[]]>([
  [
    'in a shell',
    { folder: true, verbs: 'shell' },
    ['working folder', 'parley ws block', 'The folder holds', 'parley ws verdict'],
    ['MCP'],
  ],
  [
    'with tools',
    { folder: true, verbs: 'tools' },
    ['working folder', 'MCP server', 'the tool `verdict`'],
    ['parley ws'],
  ],
  ['of a folder alone', { folder: true }, ['working folder', 'floor/**', 'The folder holds'], ['parley ws', 'MCP']],
  ['far away', { folder: false }, ['Sweep the floor.', 'ACCEPT'], ['folder', 'parley ws', 'MCP', 'Where you work']],
])('an agent %s', (_, reach, said, unsaid) => {
  const { work, review } = told(reach)
  for (const each of said) expect(work + review).toContain(each)
  for (const each of unsaid) expect(work + review).not.toContain(each)
  // The last way to give a verdict works for everybody.
  expect(review).toContain('with one line: ACCEPT')
})

test('a second attempt is told that its folder does not have the work of the first, unless it has', () => {
  const title = (reach: AgentReach, more: Partial<WorkFacts> = {}) =>
    workPrompt(
      run,
      task,
      { ...facts, feedback: ['No rhyme.'], ...more },
      { mail: [], question: undefined, guidance: [], predecessors: '' },
      reach,
    ).context.find(({ kind }) => kind === 'feedback')?.title
  expect(title({ folder: true })).toContain('your folder is fresh and does not have its work')
  expect(title({ folder: false })).not.toContain('folder')
  expect(title({ folder: true }, { start: 'c0ffee' })).not.toContain('folder')
})
