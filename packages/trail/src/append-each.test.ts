// Batches that build on each other (W-TRAIL-05): what stands behind one that is refused is not recorded either.
import { type EntryId, formatTimestamp, type ObjectId, unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { type Entry, stamp } from './entry.ts'
import { profileSigner } from './key-file.ts'
import { temporaryFolder, temporaryTrail } from './testing/temporary.ts'

test.each([
  ['a run that was just opened', true],
  ['a run at work', false],
])('of batches that are appended together to %s, a refused one takes those behind it along', async (_run, fresh) => {
  const first = await temporaryTrail()
  const { trail, script } = fresh
    ? await first.start().then(async script => ({ script, trail: (await first.reopen()).trail }))
    : { trail: first.trail, script: await first.start() }
  const run = trail.run(script.run.id)
  const good = () =>
    stamp(
      script.entry('checkpoint_rejected', script.root, 'protocol', { workspace: script.root }),
      script.id('e') as EntryId,
      formatTimestamp(first.strict.take()),
    )
  const bad = { ...good(), actor: '' }
  const appends = run.appendEach([good(), good(), bad, good(), good()].map(entry => ({ entries: [entry] })))
  const results = await Promise.all(appends)
  expect(results.map(result => (result.ok ? 'ok' : result.error.code))).toEqual([
    'ok',
    'ok',
    'invalid_entry',
    'invalid_entry',
    'invalid_entry',
  ])
  const { seq } = await run.head()
  expect(unwrap(await run.append({ entries: [good()] })).first).toBe(seq + 1)
  const entries: Entry[] = []
  for await (const record of run.replay()) if ('event_type' in record) entries.push(record)
  expect(entries.filter(entry => entry.event_type === 'checkpoint_rejected')).toHaveLength(3)
  expect((await run.verify()).findings).toEqual([])
})

test.each([
  ['signs', true],
  ['does not sign', false],
])('a batch that the store refuses spoils nothing that is on its way, in a trail that %s', async (_signs, signs) => {
  const profile = temporaryFolder()
  const { start, strict } = await temporaryTrail({
    profile,
    signer: signs ? await profileSigner(profile) : null,
  })
  const script = await start()
  const entry = () =>
    stamp(
      script.entry('checkpoint_rejected', script.root, 'protocol', { workspace: script.root }),
      script.id('e') as EntryId,
      formatTimestamp(strict.take()),
    )
  // Each lies in the log, and together they are more than one frame holds.
  const objects = Array.from({ length: 300 }, () => ({
    id: script.id('obj') as ObjectId,
    kind: 'payload',
    value: 'x'.repeat(60_000),
  }))
  const batches = [{ entries: [entry()] }, { entries: [entry()], objects }, { entries: [entry()] }]
  const results = await Promise.all(script.run.appendEach(batches))
  expect(results.map(result => (result.ok ? result.value.last : result.error.code))).toEqual([
    2,
    'batch_too_large',
    'batch_too_large',
  ])
  expect(unwrap(await script.run.append({ entries: [entry()] })).last).toBe(3)
  expect((await script.run.verify()).findings).toEqual([])
})

test('no batches at all is nothing to append', async () => {
  const { start } = await temporaryTrail()
  expect((await start()).run.appendEach([])).toEqual([])
})
