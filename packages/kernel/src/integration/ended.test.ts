import { unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { type Fixture, fixture, type Row } from '../testing/fixture.ts'
import {
  aborted,
  changed,
  decided,
  delivered,
  emitted,
  failedTask,
  finished,
  graphOf,
  status,
} from '../testing/tasks.ts'

/** W with task T completed, its integration open. */
async function openIntegration(f: Fixture): Promise<void> {
  const { id } = await graphOf(f, { T: {} })
  await finished(f, 'W', id('T'))
  unwrap(await f.root.beginIntegration(f.id('W')))
  await f.mark()
}

const taskFailed = (reason: string): readonly Row[] => [
  status('T', 'completed', 'failed', 'W'),
  failedTask('T', 'W', 1, reason),
]

test('W-INT-02 an abort ends an open integration before the workspace fails', async () => {
  const f = await fixture()
  await openIntegration(f)
  const reason = 'aborted_by_coordinator'
  unwrap(await f.root.abort(f.id('W')))
  await f.expectAdded([
    aborted('W', reason),
    emitted('sig1', 'W', 'failed', 'system', { reason }),
    decided('W', 'integrating', 'failed', reason),
    ...taskFailed(reason),
    delivered('sig1', 'W', 'R'),
  ])
  expect(unwrap(await f.root.look(f.id('W'))).integration).toBeNull()
  // The lock went with it.
  await f.worker('W2')
  await f.bring('W2', 'closed')
})

test('W-INT-02 a cascade ends the integrations that are open below, each before its workspace fails', async () => {
  const f = await fixture()
  const delegate = await f.worker('D', { delegate: true })
  const child = await f.workspace('C', { directive: { format: 'markdown', content: 'part' } }, delegate)
  await f.settle()
  unwrap(await f.final('C'))
  unwrap(await child.complete())
  unwrap(await delegate.beginIntegration(child.workspace))
  await f.mark()
  const reason = 'aborted_by_coordinator'
  unwrap(await f.root.abort(f.id('D')))
  await f.expectAdded([
    emitted('sig1', 'D', 'failed', 'system', { reason }),
    decided('D', 'active', 'failed', reason),
    aborted('C', 'parent_failed', 'protocol', 'D'),
    changed('C', 'integrating', 'failed', 'parent_failed', 'protocol', 'protocol'),
    delivered('sig1', 'D', 'R'),
  ])
})

test('W-INT-15 every integration that was started has one end, whatever ended it', async () => {
  const f = await fixture()
  const ends: Record<string, () => Promise<unknown>> = {
    accepted: () => f.root.accept(f.id('accepted')),
    revised: () => f.root.revise(f.id('revised')),
    rejected: () => f.root.reject(f.id('rejected')),
    erred: async () => {
      unwrap(await f.root.beginIntegration(f.id('erred')))
      return f.root.failIntegration(f.id('erred'))
    },
    aborted: async () => {
      unwrap(await f.root.beginIntegration(f.id('aborted')))
      return f.root.abort(f.id('aborted'))
    },
    stopped: async () => {
      unwrap(await f.root.beginIntegration(f.id('stopped')))
      return f.run.stop()
    },
  }
  for (const name of Object.keys(ends)) {
    await f.worker(name)
    await f.bring(name, 'integrating')
  }
  for (const end of Object.values(ends)) await end()
  const entries = await f.run.entries()
  const of = (type: RegExp) =>
    entries.filter(entry => type.test(entry.event_type)).map(entry => f.nameOf(entry.workspace!))
  const all = Object.keys(ends)
  expect(of(/^integration_started$/)).toEqual(all)
  expect(of(/^integration_(completed|aborted)$/)).toEqual(all)
})
