// What a node keeps in memory of runs that are over: nothing that grows with their number, however they are asked for.
import { ok, type RunId, unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import type { RunSetup } from '../contract.ts'
import { readTeam } from '../team/testing/teams.ts'
import { alice, Fixture } from '../testing/fixture.ts'
import { coordinatorRunPort } from './run-port.ts'

const SOLO = 'version: 1\nname: solo\nagents:\n  one: { command: [scripted, one] }\nlimits: { attempts: 1 }\n'

/** Whether the trail has the run in memory: otherwise each who asks gets it opened anew. */
function isHeld({ trail }: Fixture, run: RunId): boolean {
  const asked = trail.readable(run)
  return trail.readable(run) === asked
}

async function port(f: Fixture, setup: RunSetup) {
  const { coordinator, trail } = f
  return coordinatorRunPort({ coordinator, trail, setup: async () => ok(setup), costUnknown: () => false })
}

test.each<[string, RunSetup]>([
  ['that end as they begin', { ends: { outcome: 'complete', text: 'done' } }],
  ['of one task', { team: unwrap(readTeam(SOLO)), approved: true }],
])('runs %s leave memory when they are over, and stay out of it when they are asked for', async (_, setup) => {
  const f = await Fixture.open({ one: () => 'done' })
  const runs = await port(f, setup)
  const ids: RunId[] = []
  for (let index = 0; index < 10; index++) {
    const key = { text: `${index}`, reuse: 'always' } as const
    const request = { principal: alice, intent: `Do ${index}.`, origin: 'test', key }
    const { run } = unwrap(await runs.start(request))
    for await (const { end } of runs.watch(run, { principal: alice })) if (end) expect(end.text).toBe('done')
    ids.push(run)
    expect(unwrap(await runs.start(request)).run).toBe(run)
  }
  expect(ids.filter(run => isHeld(f, run))).toEqual([])
  for (const run of ids) {
    for (const after of [0, 3, 1_000]) {
      const pages = runs.watch(run, { principal: alice, after })
      for await (const { end } of pages) if (end) expect(end.outcome).toBe('complete')
    }
    expect(unwrap(await f.coordinator.records.account(run)).end?.text).toBe('done')
    unwrap(await f.coordinator.views.view(run))
    unwrap(await f.coordinator.records.storedRun(run))
  }
  expect((await runs.find({ principal: alice, origin: 'test' })).runs).toHaveLength(10)
  expect(ids.filter(run => isHeld(f, run))).toEqual([])
})
