// Mail across a crash (W-REC-17, -19, W-ENV-16, -17): placed in order, acknowledged once, given up where nobody takes it any more.
import { type EnvelopeId, formatTimestamp, unwrap } from '@parley/core'
import type { ProposedEntry } from '@parley/trail'
import { expect, test } from 'vitest'
import { kernelLimits } from '../limits.ts'
import { type Fixture, type Row, refused } from '../testing/fixture.ts'
import { leave } from '../testing/foreign.ts'
import { arrived, delivered, receipt, redelivered, send } from '../testing/mail.ts'
import { carriedFixture } from '../testing/transport.ts'

const to = (id: string, receiver = 'W') => ({ id, from: 'R', to: receiver, type: 'directive' })

function undeliverable(id: string, receiver: string, reason: string): Row {
  return ['envelope_undeliverable', 'R', 'protocol', { envelope_id: id, from: 'R', to: receiver, reason }]
}

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

test('WP-038 a restart places what was on its way before anything newer, acknowledges what was not, and gives up the rest', async () => {
  const { f, transport } = await silent('W', 'V', 'X')
  await send(f, f.root, 'E1', 'W', 'directive')
  await send(f, f.root, 'E2', 'W', 'directive')
  const third = await send(f, f.root, 'E3', 'V', 'directive')
  await send(f, f.root, 'E4', 'X', 'directive')
  await leavePlaced(f, third, 'V')
  // Its transition is on record, what follows from it is not.
  await leave(f, [
    {
      event_type: 'workspace_state_changed',
      workspace: f.id('X'),
      actor: 'protocol',
      body: {
        workspace_id: f.id('X'),
        from_state: 'active',
        to_state: 'integrating',
        trigger: 'agent_complete',
        initiator: 'worker',
      },
    },
  ])
  // Rights are not checked again: this one is gone.
  const rights = unwrap(await f.root.rights())
  const right = rights.find(each => each.holder === f.id('R') && each.target === f.id('W'))
  await leave(f, [
    {
      event_type: 'port_right_revoked',
      workspace: f.id('R'),
      actor: 'system',
      body: {
        right_id: right!.id,
        right_type: 'send',
        holder: f.id('R'),
        target: f.id('W'),
        revoked_by: f.id('R'),
        reason: 'test',
      },
    },
  ])
  await f.mark()
  transport.begin(f.clock, () => 'pass')
  await f.restart()
  await f.expectAdded([
    delivered(to('E1')),
    ...receipt('sig1', to('E1')),
    delivered(to('E2')),
    ...receipt('sig2', to('E2')),
    redelivered(to('E3', 'V')),
    ...receipt('sig3', to('E3', 'V')),
    undeliverable('E4', 'X', 'integrating'),
  ])
  expect(transport.attempts).toEqual([])
  expect(await markerOf(f)).toMatchObject({ envelopes_redelivered: 3 })
  unwrap(await f.root.grantRight('send', f.id('R'), f.id('W')))
  await f.mark()
  await send(f, f.root, 'E5', 'W', 'directive')
  await f.expectAdded(arrived('sig4', to('E5')))
  expect(await inboxOf(f, 'W')).toEqual(['E1', 'E2', 'E5'])
})

test('WM-044 one channel keeps its order across a restart, and mail for the failed is given up', async () => {
  const { f, transport } = await silent('W', 'X')
  await send(f, f.root, 'e1', 'W', 'directive')
  await send(f, f.root, 'e2', 'W', 'directive')
  await send(f, f.root, 'e3', 'X', 'directive')
  await leave(f, [
    {
      event_type: 'workspace_state_changed',
      workspace: f.id('X'),
      actor: 'system',
      body: {
        workspace_id: f.id('X'),
        from_state: 'active',
        to_state: 'failed',
        trigger: 'aborted_by_coordinator',
        initiator: 'coordinator',
        reason: 'aborted_by_coordinator',
      },
    },
  ])
  await f.mark()
  transport.begin(f.clock, () => 'pass')
  await f.restart()
  await send(f, f.root, 'e4', 'W', 'directive')
  await f.expectAdded([
    delivered(to('e1')),
    ...receipt('sig1', to('e1')),
    delivered(to('e2')),
    ...receipt('sig2', to('e2')),
    undeliverable('e3', 'X', 'failed'),
    ...arrived('sig3', to('e4')),
  ])
  expect(await markerOf(f)).toMatchObject({ envelopes_redelivered: 2, workspaces_failed: 0 })
})

test('WM-045 an envelope is in the inbox once and acknowledged once, whatever part of its delivery is on record', async () => {
  const { f, transport } = await silent('W', 'V')
  const first = await send(f, f.root, 'e1', 'W', 'directive')
  // e1 was handed to its agent before the record of its delivery could be written.
  unwrap(
    await f.trail.run(f.run.id).append({
      entries: [],
      objects: [
        {
          id: f.ids.next('obj') as never,
          kind: 'consumed',
          value: { workspace: f.id('W'), envelope: first },
        },
      ],
    }),
  )
  transport.fate = () => 'pass'
  const second = await send(f, f.root, 'e2', 'V', 'directive')
  await f.settle()
  transport.fate = () => 'drop'
  const third = await send(f, f.root, 'e3', 'V', 'directive')
  await leavePlaced(f, third, 'V')
  await f.mark()
  await f.restart()
  await f.expectAdded([
    delivered(to('e1')),
    ...receipt('sig1', to('e1')),
    redelivered(to('e3', 'V')),
    ...receipt('sig2', to('e3', 'V')),
  ])
  expect(await inboxOf(f, 'W')).toEqual([])
  expect(await inboxOf(f, 'V')).toEqual(['e2', 'e3'])
  // The transport brings both once more.
  unwrap(await f.run.submit({ type: 'arrive', envelope: second }))
  await f.expectAdded([redelivered(to('e2', 'V'))])
  unwrap(await f.run.submit({ type: 'arrive', envelope: third }))
  await f.expectAdded([redelivered(to('e3', 'V'))])
  expect(await inboxOf(f, 'V')).toEqual(['e2', 'e3'])
})

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
