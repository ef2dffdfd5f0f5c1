// The work under judgement, as the merge gate, `diff` and `show` have it: on a real trail and a real repository.
import { execFileSync } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type RunId, unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { Fixture, planned, refusal, writes } from '../testing/fixture.ts'

const JUDGED = `${planned(
  '{ id: a, title: The first, agent: one, prompt: First., check: [test, -f, made], review: { by: judge } }',
  '{ id: b, title: The second, agent: two, prompt: Second. }',
)}gates: { integration: { on: true } }\n`

const scripts = {
  one: writes('made', 'one'),
  judge: () => 'Good.\nACCEPT',
  two: writes('other', 'two'),
}

/** Whatever has to be agreed to before is. */
async function mergeGate(fixture: Fixture, run: RunId) {
  for (;;) {
    const { gates, tasks } = await fixture.until(run, view => view.gates.some(({ task }) => task === 'a'))
    const merge = gates.find(({ workspace }) => workspace === tasks[0]!.workspace)
    if (merge) return merge
    for (const { id } of gates) await fixture.respond(id, { decision: 'approve' })
  }
}

test('work at its merge gate is shown with files, patch, words, check, review and cost', async () => {
  const fixture = await Fixture.open(scripts)
  const run = await fixture.solve(JUDGED)
  const gate = await mergeGate(fixture, run)
  for (const task of ['a', gate.workspace!]) {
    const work = unwrap(await fixture.coordinator.works.show(run, { task, patch: true }))
    expect(work).toMatchObject({
      run,
      task: 'a',
      title: 'The first',
      workspace: gate.workspace,
      final: true,
      base: fixture.git('rev-parse', 'main').trim(),
      files: [{ path: 'made', kind: 'added', added: 1, removed: 0 }],
      more_files: 0,
      added: 1,
      removed: 0,
      patch: expect.stringContaining('+one\n'),
      parts: [
        {
          task: 'a',
          said: 'wrote made',
          judgements: [
            { kind: 'check', command: 'test -f made', outcome: 'accepted' },
            { kind: 'review', outcome: 'accepted', text: expect.stringContaining('Good.') },
          ],
        },
      ],
      usage: { turns: 2 },
    })
    expect(work.parts).toHaveLength(1)
  }
  const merged = unwrap(await fixture.coordinator.works.show(run, {})).files.map(({ path }) => path)
  expect(merged).not.toContain('made')
  expect(await fixture.coordinator.works.show(run, { task: 'nobody' })).toMatchObject(refusal('not_found'))
})

test('after the end, and after a restart, the whole result and each task are still there to be seen', async () => {
  const fixture = await Fixture.open(scripts)
  const view = await fixture.finished(JUDGED.replace('on: true', 'on: false'))
  await fixture.restart()
  const [whole, first] = await Promise.all([
    fixture.coordinator.works.show(view.run as RunId, { patch: true }),
    fixture.coordinator.works.show(view.run as RunId, { task: 'a' }),
  ])
  expect(unwrap(whole)).toMatchObject({
    title: 'Do it.',
    state: 'done',
    branch: view.result!.branch,
    commit: view.result!.commit,
    files: [{ path: 'made' }, { path: 'other' }],
    parts: [
      { task: 'a', said: 'wrote made' },
      { task: 'b', said: 'wrote other' },
    ],
  })
  expect(unwrap(whole).task).toBeUndefined()
  expect(unwrap(first)).toMatchObject({ task: 'a', files: [{ path: 'made' }] })
  expect(unwrap(first).patch).toBeUndefined()
  rmSync(join(fixture.profile, 'runs', view.run), { recursive: true })
  expect(await fixture.coordinator.works.show(view.run as RunId, {})).toMatchObject(refusal('work_gone'))
})

test('a patch for git has the content of files that are no text', async () => {
  const fixture = await Fixture.open({
    one: ({ folder }) => {
      writeFileSync(join(folder!, 'b.bin'), Buffer.from([0, 1, 2, 0]))
      return 'made'
    },
  })
  const { run } = await fixture.finished(planned('{ id: a, agent: one, prompt: x }'))
  const { works } = fixture.coordinator
  expect(unwrap(await works.show(run as RunId, { patch: true })).patch).toContain('Binary files')
  const { patch } = unwrap(await works.show(run as RunId, { patch: true, binary: true }))
  execFileSync('git', ['apply'], { cwd: fixture.project, input: patch })
  expect(readFileSync(join(fixture.project, 'b.bin'))).toEqual(Buffer.from([0, 1, 2, 0]))
})
