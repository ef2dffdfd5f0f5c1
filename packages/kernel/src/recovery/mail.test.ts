// Mail across a crash (W-REC-17, -19, W-ENV-16, -17): placed in order, acknowledged once, given up where nobody takes
// it any more.
import { type EnvelopeId, formatTimestamp, unwrap } from '@parley/core'
import type { ProposedEntry } from '@parley/trail'
import { expect, test } from 'vitest'
import { kernelLimits } from '../limits.ts'
import { type Fixture, refused } from '../testing/fixture.ts'
import { leave } from '../testing/foreign.ts'
import { delivered, receipt, send } from '../testing/mail.ts'
import { carriedFixture } from '../testing/transport.ts'

const to = (id: string, receiver = 'W') => ({ id, from: 'R', to: receiver, type: 'directive' })

/** The record of a placement and nothing behind it, as a runtime leaves it that appends entry by entry. */
async function leavePlaced(f: Fixture, id: EnvelopeId, receiver: string): Promise<void> {
  const entry = {
    event_type: 'envelope_delivered',
    workspace: f.id(receiver),
    actor: 'protocol',
    body: {
      envelope_id: id,
      from: f.id('R'),
      to: f.id(receiver),
      delivered_at: formatTimestamp(f.runtime.clock.next()),
    },
  }
  await leave(f, [entry as ProposedEntry])
}

/** Nothing that is sent arrives. */
async function silent(...names: string[]) {
  const { f, transport } = await carriedFixture()
  for (const name of names) await f.worker(name)
  transport.begin(f.clock, () => 'drop')
  return { f, transport }
}

async function markerOf(f: Fixture): Promise<unknown> {
  return (await f.run.entries()).findLast(entry => entry.event_type === 'recovery_completed')?.body
}

async function inboxOf(f: Fixture, name: string): Promise<string[]> {
  return unwrap(await f.agent(name).look()).inbox.map(id => f.nameOf(id))
}

test('W-REC-17 mail stays held for the suspended, and behind a blocking envelope', async () => {
  const { f, transport } = await silent('W', 'S')
  await f.bring('S', 'suspended')
  await send(f, f.root, 'H', 'S', 'directive')
  transport.fate = () => 'pass'
  await send(f, f.root, 'B', 'W', 'directive', { priority: 'blocking' })
  await send(f, f.root, 'N', 'W', 'directive')
  await f.mark()
  await f.restart()
  await f.expectAdded([])
  expect(await markerOf(f)).toMatchObject({ envelopes_redelivered: 0 })
  unwrap(await f.agent('W').consume())
  await f.expectAdded([delivered(to('N')), ...receipt('sig1', to('N'))])
})

test('W-REC-17 a delivery to somebody who has ended since is left as it is', async () => {
  const { f } = await silent('W')
  const id = await send(f, f.root, 'E', 'W', 'directive')
  await leavePlaced(f, id, 'W')
  await f.restart()
  const other = await send(f, f.root, 'F', 'W', 'directive')
  await leavePlaced(f, other, 'W')
  expect(refused(await f.root.look(f.id('W')))).toBe('ok')
  await leave(f, [
    {
      event_type: 'workspace_state_changed',
      workspace: f.id('W'),
      actor: 'system',
      body: {
        workspace_id: f.id('W'),
        from_state: 'active',
        to_state: 'failed',
        trigger: 'aborted_by_coordinator',
        initiator: 'coordinator',
        reason: 'aborted_by_coordinator',
      },
    },
  ])
  await f.mark()
  await f.restart()
  await f.expectAdded([])
  await f.restart()
  await f.expectAdded([])
})

test('W-REC-22 until the marker the transport carries nothing, however much there is to place', async () => {
  const { f, transport } = await silent('W')
  const count = kernelLimits.groupCommands + 10
  for (let each = 0; each < count; each++) unwrap(await f.root.send(f.mail('W', 'directive')))
  transport.begin(f.clock, () => 'pass')
  await f.restart()
  expect(transport.attempts).toEqual([])
  expect(await markerOf(f)).toMatchObject({ envelopes_redelivered: count })
  expect(await inboxOf(f, 'W')).toHaveLength(count)
})
