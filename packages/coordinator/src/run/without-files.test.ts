// Runs without a project, with agents that work without files.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { alice, Fixture, hanging, planned, refusal, solo } from '../testing/fixture.ts'

const NONE = { project: undefined }

test('a run without a project needs no folder and no git, and answers', async () => {
  const folders: unknown[] = []
  const f = await Fixture.open({
    thinker: input => {
      folders.push(input.folder)
      expect(input.context.some(({ kind }) => kind === 'workspace')).toBe(false)
      expect(input.environment).not.toHaveProperty('PARLEY_PROJECT')
      return `thought about ${input.prompt}`
    },
  })
  const run = await f.solve(solo('thinker'), { ...NONE, intent: 'six times seven' })
  const view = await f.over(run)
  expect(view).toMatchObject({ state: 'done', project: '', warnings: [] })
  expect(view.result).toBeUndefined()
  expect(folders).toEqual([undefined])
  expect(existsSync(join(f.profile, 'runs', run))).toBe(false)
  const { end } = unwrap(await f.coordinator.records.account(run))
  expect(end).toMatchObject({ outcome: 'complete', text: 'thought about six times seven' })
})

test('what depends on files is refused in plain words, and lists and cleaning cope', async () => {
  const f = await Fixture.open({ thinker: () => 'done' })
  const run = await f.solve(solo('thinker'), NONE)
  await f.over(run)
  expect(await f.coordinator.works.show(run, {})).toMatchObject(refusal('no_files'))
  const applied = await f.coordinator.applies.apply(run, { principal: alice, folder: f.project })
  expect(applied).toMatchObject({ ok: false, error: { code: 'nothing_to_apply', message: /without a project/ } })
  expect(unwrap(await f.coordinator.cleaning.clean({ principal: alice, runs: [run], olderThan: 0 }))).toMatchObject([
    { run, refs: [], folder: false },
  ])
  expect(await f.coordinator.runs.list()).toMatchObject([{ run, state: 'done', project: '' }])
  expect(await f.coordinator.runs.list({ folder: f.project })).toEqual([])
  expect(await f.coordinator.gates.list(run)).toEqual([])
})

test('needs, reviews, a nested plan and another attempt work without files', async () => {
  let judged = 0
  const f = await Fixture.open({
    one: () => 'one',
    two: input => `two after ${input.context.map(({ text }) => text).join(' ')}`,
    judge: input => {
      expect(input.prompt).not.toContain('folder')
      return judged++ === 0 ? 'REVISE: better' : 'ACCEPT'
    },
  })
  const view = await f.finished(
    planned(
      '{ id: first, agent: one, prompt: Begin. }',
      '{ id: second, prompt: Say it., needs: [first], plan: [{ id: inner, agent: two, prompt: Part., review: { by: judge } }] }',
    ),
    NONE,
  )
  expect(view.state).toBe('done')
  expect(view.tasks.map(({ id, state }) => [id, state])).toEqual([
    ['first', 'done'],
    ['second', 'done'],
    ['inner', 'done'],
  ])
  expect(judged).toBe(2)
})

test('a run without a project goes on after a restart', async () => {
  const slow = hanging()
  const f = await Fixture.open({ thinker: slow.script })
  const run = await f.solve(solo('thinker'), NONE)
  await slow.begun
  f.scripts = { thinker: () => 'at last' }
  await f.restart()
  expect(await f.over(run)).toMatchObject({ state: 'done', project: '' })
})

test.each([
  ['a check', '{ id: a, agent: one, prompt: Do., check: ["true"] }', 'check'],
  ['paths', '{ id: a, agent: one, prompt: Do., paths: ["src/**"] }', 'may change files'],
])('a plan with %s needs a project', async (_, task, word) => {
  const f = await Fixture.open({ one: () => '' })
  const refused = await f.trySolve(planned(task), NONE)
  expect(refused).toMatchObject({
    ok: false,
    error: { code: 'invalid_project', message: expect.stringContaining(word) },
  })
  expect(await f.coordinator.runs.list()).toEqual([])
})

test('an agent that works in a folder needs a project', async () => {
  const f = await Fixture.open()
  const yaml = 'version: 1\nname: solo\nagents:\n  shell: { command: ["true"] }\n'
  expect(await f.trySolve(yaml, NONE)).toMatchObject(refusal('invalid_project'))
})
