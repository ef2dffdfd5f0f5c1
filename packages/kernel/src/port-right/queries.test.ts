// Rights by holder and by target (W-PORT-11), and that the table is nothing but what the trail says.
import { unwrap } from '@parley/core'
import type { Entry } from '@parley/trail'
import { expect, test } from 'vitest'
import type { RightView } from '../runtime/view.ts'
import { type Fixture, fixture, refused } from '../testing/fixture.ts'
import { send, withNotes } from '../testing/mail.ts'
import { grant, rightsBetween } from '../testing/rights.ts'

/** The table from the four event types and the terminal transitions alone, without the kernel's own folds. */
function rebuilt(entries: readonly Entry[]): RightView[] {
  const rights = new Map<string, { -readonly [Field in keyof RightView]: RightView[Field] }>()
  const gone = new Set<string>()
  for (const { event_type, body: recorded } of entries) {
    const body = recorded as unknown as Readonly<Record<string, never>>
    const right = rights.get(body.right_id ?? '')
    switch (event_type) {
      case 'port_right_created': {
        const { right_id: id, right_type: type, holder, target } = body
        rights.set(id!, { id: id!, type: type!, holder: holder!, target: target!, status: 'active' })
        break
      }
      case 'port_right_transferred':
        right!.holder = body.to_holder!
        break
      case 'port_right_revoked':
        right!.status = 'revoked'
        break
      case 'port_right_consumed':
        right!.status = 'consumed'
        break
      case 'workspace_state_changed':
        if (['closed', 'failed'].includes(body.to_state!)) gone.add(body.workspace_id!)
    }
  }
  return [...rights.values()].map(right =>
    right.status === 'active' && (gone.has(right.holder) || gone.has(right.target))
      ? { ...right, status: 'expired' }
      : right,
  )
}

/** Holder, target, type. */
const shown = (f: Fixture, rights: readonly RightView[]) =>
  rights.map(each => `${f.nameOf(each.holder)} ${each.type} ${f.nameOf(each.target)}`)

test('WP-078 the table of rights follows from the trail, and what ends with a workspace needs no entry', async () => {
  const f = await fixture({ run: withNotes })
  const worker = await f.worker('W')
  await f.worker('W2')
  await f.worker('W3')
  await grant(f, 'G1', 'send', 'W', 'W2')
  await grant(f, 'G2', 'send_once', 'W', 'W3')
  await grant(f, 'G3', 'send', 'W2', 'W3')
  await grant(f, 'G4', 'send', 'W3', 'W2')
  await send(f, worker, 'E1', 'W3', 'note')
  await send(f, worker, 'E2', 'W2', 'note')
  const listed = { type: 'send', target: f.id('W3') }
  unwrap(await f.root.send(f.mail('W', 'directive', { rights: [listed] })))
  await f.settle()
  unwrap(await f.agent('W2').send(f.mail('R', 'query', { rights: [listed] })))
  await f.settle()
  const [revoked] = await rightsBetween(f, 'W3', 'W2')
  unwrap(await f.root.revokeRight(revoked!, 'test'))
  const { topology } = f.root
  expect(shown(f, unwrap(await topology.rightsHeldBy(f.id('W'))))).toEqual([
    'W receive W',
    'W send R',
    'W send W2',
    'W send W3',
  ])
  expect(shown(f, unwrap(await topology.rightsTo(f.id('W3'))))).toEqual([
    'W3 receive W3',
    'R send W3',
    // Moved with the query, and minted with the directive.
    'R send W3',
    'W send W3',
  ])

  await f.mark()
  unwrap(await f.root.abort(f.id('W')))
  expect((await f.added()).map(each => each.event_type)).not.toContain('port_right_revoked')
  expect(unwrap(await topology.rightsHeldBy(f.id('W')))).toEqual([])
  expect(unwrap(await topology.rightsTo(f.id('W')))).toEqual([])
  const live = unwrap(await f.root.rights())
  expect(live.filter(each => each.holder === f.id('W')).map(each => each.status)).not.toContain('active')
  expect(new Set(live.map(each => each.status))).toEqual(
    new Set(['active', 'consumed', 'revoked', 'expired']),
  )
  expect(rebuilt(await f.run.entries())).toEqual(live)
  await f.restart()
  expect(unwrap(await f.root.rights())).toEqual(live)
  for (const query of ['rightsHeldBy', 'rightsTo'] as const)
    expect(refused(await f.root.topology[query]('ws_none' as never))).toBe('not_found')
})
