import { hash } from 'node:crypto'
import { SystemClock, SystemIds } from '@parley/core'
import { openTrail } from '@parley/trail'
import { EVENT_TYPES } from '@parley/trail/events'
import { edited, ScriptedRun, tamper } from '@parley/trail/testing'
import { expect, onTestFinished, test } from 'vitest'
import { temporaryFolder } from '../testing/ground.ts'
import { knownTypes } from './entry-types.ts'

/** A run whose newest entry has a type that this version does not know. */
async function runFromElsewhere() {
  const profile = temporaryFolder()
  const first = await openTrail(profile)
  const script = await ScriptedRun.start(first, new SystemIds(), new SystemClock())
  await script.workspace()
  const [run, { seq }] = [script.run.id, await script.run.head()]
  await first.close()
  tamper(profile, records =>
    records.map(record => {
      if (record.run !== run || record.seq !== seq) return record
      const changed = edited(record, '"workspace_created"', '"acme.workspace_painted"')
      return { ...changed, hash: hash('sha256', changed.view, 'hex') }
    }),
  )
  const trail = await openTrail(profile)
  onTestFinished(() => trail.close())
  return trail.run(run)
}

test('every type of the registry is known, and so is one that the run has entries of', async () => {
  const run = await runFromElsewhere()
  expect(await knownTypes(run, { event_type: [...EVENT_TYPES] })).toMatchObject({ ok: true })
  expect(await knownTypes(run, { event_type: 'acme.workspace_painted' })).toMatchObject({ ok: true })
  expect(await knownTypes(run, {})).toMatchObject({ ok: true })
})

test.each([
  ['workspace_creatd', 'workspace_created'],
  ['checkpoint_cr', 'checkpoint_created'],
  ['workspace_created,task_created', undefined],
  ['acme.workspace_painter', undefined],
])('%s is refused, with what was meant where that is near', async (name, meant) => {
  const run = await runFromElsewhere()
  const refused = await knownTypes(run, { event_type: ['workspace_created', name] })
  expect(refused).toMatchObject({ ok: false, error: { code: 'invalid_query', details: { event_type: name } } })
  if (refused.ok) return
  expect(refused.error.details.did_you_mean).toBe(meant)
  expect(refused.error.message).toContain(`'${name}'`)
  expect(refused.error.message.includes('Did you mean')).toBe(meant !== undefined)
})
