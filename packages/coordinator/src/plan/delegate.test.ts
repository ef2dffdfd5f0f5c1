// A team inside the team: a delegate with its own subtree, its own line of merged work, judged and merged like any
// other.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { RunId } from '@parley/core'
import { expect, test } from 'vitest'
import { Fixture, hanging, writes } from '../testing/fixture.ts'

const team = (extra = '', inner = '') => `version: 1
name: product
agents:
  api: { command: [scripted, api] }
  store: { command: [scripted, store] }
  docs: { command: [scripted, docs] }
plan:
  - id: backend
    prompt: The backend.
${extra}
    plan:
      - { id: api, agent: api, prompt: The API., paths: ['api/**'] }
      - { id: store, agent: store, prompt: The store., paths: ['store/**'], needs: [api]${inner} }
  - { id: docs, agent: docs, prompt: The docs., needs: [backend] }
`

async function created(fixture: Fixture, run: RunId) {
  return (await fixture.entries(run, 'workspace_created')).map(({ actor, body }) => ({
    actor,
    ...(body as { workspace_id: string; parent: string | null; delegate: boolean; originator: string }),
  }))
}

test('its tasks are done below it, and its merged work is what the others see', async () => {
  const seen: boolean[] = []
  const told: string[] = []
  const fixture = await Fixture.open({
    api: input => {
      told.push(input.context.map(({ text }) => text).join('\n'))
      return writes('api/a')(input)
    },
    store: input => {
      seen.push(existsSync(join(input.folder!, 'api/a')))
      return writes('store/s')(input)
    },
    docs: input => {
      seen.push(existsSync(join(input.folder!, 'api/a')) && existsSync(join(input.folder!, 'store/s')))
      return writes('docs')(input)
    },
  })
  const run = await fixture.solve(team())
  const view = await fixture.over(run)
  expect(view.state).toBe('done')
  expect(seen).toEqual([true, true])
  expect(told[0]).toContain('The backend.')
  expect(view.tasks.map(({ id, parent, state, agent }) => [id, parent, state, agent])).toEqual([
    ['backend', undefined, 'done', 'team'],
    ['api', 'backend', 'done', 'api'],
    ['store', 'backend', 'done', 'store'],
    ['docs', undefined, 'done', 'docs'],
  ])
  expect(fixture.result(view, 'store/s')).toBe('store/s\n')
  const [root, backend, api, store, docs] = await created(fixture, run)
  expect(backend).toMatchObject({ parent: root?.workspace_id, delegate: true, actor: 'system' })
  expect(api).toMatchObject({ parent: backend?.workspace_id, actor: 'worker', originator: 'alice' })
  expect(store).toMatchObject({ parent: backend?.workspace_id })
  expect(docs).toMatchObject({ parent: root?.workspace_id })
  expect((await fixture.trail.run(run).verify()).findings).toEqual([])
})

test('a part that fails for good fails the whole, which is tried again with parts of its own', async () => {
  let tries = 0
  const fixture = await Fixture.open({
    api: writes('api/a'),
    store: input => {
      if (++tries <= 2) throw new Error(`no disk ${tries}`)
      return writes('store/s')(input)
    },
    docs: writes('docs'),
  })
  const view = await fixture.finished(team('    attempts: 2', ', attempts: 2'))
  expect(view.state).toBe('done')
  expect(tries).toBe(3)
  expect(view.tasks[0]).toMatchObject({ attempt: 2, state: 'done' })
  expect(view.tasks[0]?.steps[0]?.text).toContain('no disk 2')
})

test('its merged work is checked as a whole, and a stop in the middle changes nothing', async () => {
  const store = hanging()
  const fixture = await Fixture.open({ api: writes('api/a'), store: store.script, docs: writes('docs') })
  const check = "    check: [sh, -c, 'cat api/a store/s']"
  const run = await fixture.solve(team(check))
  await store.begun
  fixture.scripts = { ...fixture.scripts, store: writes('store/s') }
  await fixture.restart()
  const view = await fixture.over(run)
  expect(view.state).toBe('done')
  expect(view.tasks[0]?.steps.map(({ kind, outcome }) => [kind, outcome])).toEqual([
    ['team', 'complete'],
    ['check', 'accepted'],
  ])
})

test('ending the work of a team ends everybody in it', async () => {
  const api = hanging()
  const fixture = await Fixture.open({ api: api.script })
  const run = await fixture.solve(team())
  const { signal } = await api.begun
  await fixture.abort(run, { reason: 'enough', task: 'backend' })
  const view = await fixture.over(run)
  expect(view.state).toBe('failed')
  expect(signal.aborted).toBe(true)
  expect(view.tasks.map(({ state }) => state)).toEqual(['failed', 'cancelled', 'cancelled', 'cancelled'])
  expect(view.tasks[0]?.note).toBe('alice ended it: enough.')
})
