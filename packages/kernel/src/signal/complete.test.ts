// What `complete` is answered with: the checkpoint that will be integrated, or that there is none (W-INT-04).
import { unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { fixture, refused } from '../testing/fixture.ts'

test('WX-039 complete is answered by what will be integrated', async () => {
  const f = await fixture()
  const worker = await f.worker('W')
  unwrap(await f.final('W'))
  const { checkpoint } = unwrap(await f.final('W'))
  unwrap(await f.checkpoint('W'))
  await f.mark()
  const done = unwrap(await worker.complete())
  expect(done).toEqual({ signal: done.signal, outcome: 'applied', integrates: checkpoint })
  f.name(checkpoint, 'K')
  expect(unwrap(await f.root.accept(f.id('W'))).state).toBe('closed')
  await f.expectAmong([['integration_started', 'W', 'system', { checkpoint_ref: 'K' }]])
})

test.each([
  ['nothing at all', async () => undefined],
  ['only provisional work', async f => unwrap(await f.checkpoint('W'))],
] as const satisfies readonly [string, (f: Awaited<ReturnType<typeof fixture>>) => Promise<unknown>][])(
  'WX-039 complete with %s is answered by that nothing can be integrated',
  async (_what, prepare) => {
    const f = await fixture()
    const worker = await f.worker('W')
    await prepare(f)
    await f.mark()
    expect(unwrap(await worker.complete())).toMatchObject({ outcome: 'applied', integrates: null })
    await f.expectAmong([
      ['signal_emitted', 'W', 'worker', { type: 'complete' }],
      ['workspace_state_changed', 'W', 'protocol', { to_state: 'integrating' }],
    ])
    expect(refused(await f.root.accept(f.id('W')))).toBe('invalid_state(no_final_checkpoint)')
    unwrap(await f.root.reject(f.id('W')))
    await f.expectAmong([['workspace_state_changed', 'W', 'system', { trigger: 'rejected' }]])
    // What comes too late does nothing, and promises nothing.
    expect(unwrap(await worker.complete())).not.toHaveProperty('integrates')
  },
)
