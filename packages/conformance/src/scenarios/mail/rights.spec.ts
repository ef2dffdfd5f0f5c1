// Port rights on their way: handed on with mail, listed in vain, revoked, and the table that follows from the trail
// (wacp-primitives 10).
import { deepStrictEqual } from 'node:assert'
import { arrived, created, delivered, receipt, rejected, right } from '../../entry-rows.ts'
import type { Entry } from '../../host.ts'
import { type Kit, NOTES } from '../../kit.ts'
import type { Row } from '../../rows.ts'
import { scenario } from '../../scenario.ts'

const resumed = (workspace: string): readonly [Row, Row] => [
  ['suspension_resumed', workspace, 'system'],
  ['workspace_state_changed', workspace, 'system'],
]

scenario(
  'WP-075 a listed right moves when its envelope is delivered, not before; what the root lists is made anew',
  { level: 1, rules: ['W-PORT-06', 'W-PORT-05'], run: { taxonomy: NOTES } },
  async kit => {
    for (const name of ['W', 'W2', 'W3']) await kit.worker(name)
    await kit.grant('right', 'send', 'W', 'W2')
    await kit.grant('way', 'send', 'W', 'W3')
    await kit.bring('W3', 'suspended')
    await kit.mark()
    const rights = [{ type: 'send', target: 'W2' }] as const
    await kit.send('E', 'W', 'W3', 'note', { rights })
    await kit.expectAdded([created('E', 'W', 'W3', 'note')])
    await kit.send('N1', 'W', 'W2', 'note')
    await kit.expectAdded(arrived('N1', 'W', 'W2', 'note'))
    await kit.do('R', 'resume', { workspace: 'W3' })
    await kit.expectAdded([
      ...resumed('W3'),
      delivered('E', 'W', 'W3'),
      [
        'port_right_transferred',
        'W3',
        'protocol',
        {
          right_id: 'right',
          right_type: 'send',
          from_holder: 'W',
          to_holder: 'W3',
          target: 'W2',
          via_envelope: 'E',
        },
      ],
      ...receipt('E', 'W', 'W3'),
    ])
    await kit.refuses('REJECTED', 'W', 'send_envelope', { ...kit.mail('W2', 'note') }, 'no_send_right')
    await kit.expectAdded([rejected('W', 'no_send_right')])
    await kit.send('N2', 'W3', 'W2', 'note')
    await kit.expectAdded(arrived('N2', 'W3', 'W2', 'note'))

    // Gone between acceptance and delivery: the envelope arrives without it.
    await kit.grant('second', 'send', 'W', 'W2')
    await kit.bring('W3', 'suspended')
    await kit.send('F', 'W', 'W3', 'note', { rights })
    await kit.do('R', 'revoke_right', { right: 'second', reason: 'no more' })
    await kit.mark()
    await kit.do('R', 'resume', { workspace: 'W3' })
    await kit.expectAdded([...resumed('W3'), delivered('F', 'W', 'W3'), ...receipt('F', 'W', 'W3')])
    deepStrictEqual(
      (await kit.rights('W3', 'W2')).map(({ id }) => id),
      [kit.id('right')],
    )

    const own = await kit.rights('R', 'W2')
    await kit.send('D', 'R', 'W3', 'directive', { rights: [{ type: 'send_once', target: 'W2' }] })
    await kit.expectAdded([
      created('D', 'R', 'W3', 'directive'),
      delivered('D', 'R', 'W3'),
      right('send_once', 'W3', 'W2', { right_id: '?minted', actor: '*' }),
      ...receipt('D', 'R', 'W3'),
    ])
    deepStrictEqual(await kit.rights('R', 'W2'), own)
    deepStrictEqual(
      (await kit.rights('W3', 'W2')).map(({ id, type }) => [kit.names.of(id), type]),
      [
        ['right', 'send'],
        ['minted', 'send_once'],
      ],
    )
  },
)

scenario(
  'WP-076 only a right that the sender holds can be listed, never a receive right, never one to its own inbox',
  { level: 1, rules: ['W-PORT-06', 'W-PORT-09', 'W-ENV-05'] },
  async kit => {
    await kit.worker('W')
    await kit.worker('W2')
    await kit.mark()
    const before = await kit.picture()
    for (const listed of [
      { type: 'send', target: 'W2' },
      { type: 'receive', target: 'W' },
      { type: 'send_once', target: 'W' },
    ]) {
      const draft = { ...kit.mail('R', 'query'), rights: [listed] }
      await kit.refuses('REJECTED', 'W', 'send_envelope', draft, 'invalid_structure')
      await kit.expectAdded([rejected('W', 'invalid_structure')])
    }
    deepStrictEqual(await kit.picture(), before)
  },
)

scenario(
  'WP-077 a revocation stops what is sent after it, and nothing that was accepted',
  { level: 1, rules: ['W-PORT-08', 'W-PORT-05'] },
  async kit => {
    await kit.worker('W')
    const only = async (holder: string, target: string, name: string) =>
      kit.name((await kit.rights(holder, target))[0]!.id, name)
    await only('W', 'R', 'up')
    await only('R', 'W', 'down')
    await only('W', 'W', 'receive')
    await kit.bring('W', 'suspended')
    await kit.send('E', 'R', 'W', 'directive')
    await kit.mark()
    for (const name of ['up', 'down']) await kit.do('R', 'revoke_right', { right: name, reason: 'no more' })
    const revoked = (right_id: string, holder: string, target: string): Row => [
      'port_right_revoked',
      holder,
      'system',
      { right_id, right_type: 'send', holder, target, reason: 'no more' },
    ]
    await kit.expectAdded([revoked('up', 'W', 'R'), revoked('down', 'R', 'W')])
    await kit.do('R', 'resume', { workspace: 'W' })
    await kit.expectAdded([...resumed('W'), delivered('E', 'R', 'W'), ...receipt('E', 'R', 'W')])
    for (const [from, to, type] of [
      ['R', 'W', 'directive'],
      ['W', 'R', 'query'],
    ] as const) {
      await kit.refuses('REJECTED', from, 'send_envelope', { ...kit.mail(to, type) }, 'no_send_right')
      await kit.expectAdded([rejected(from, 'no_send_right', { to, type })])
    }
    const before = await kit.picture()
    const revoke = (name: string) => ({ right: name, reason: 'no more' })
    await kit.refuses('INVALID_ARGUMENT', 'R', 'revoke_right', revoke('receive'))
    await kit.refuses('NOT_FOUND', 'R', 'revoke_right', revoke('down'))
    await kit.refuses('NOT_FOUND', 'R', 'revoke_right', revoke('nothing'))
    await kit.expectAdded([])
    deepStrictEqual(await kit.picture(), before)
  },
)

interface Line {
  readonly id: string
  readonly type: string
  readonly holder: string
  readonly target: string
}

/** The active rights as the four event types and the terminal transitions alone give them. */
function rebuilt(entries: readonly Entry[]): readonly Line[] {
  const rights = new Map<string, Line>()
  for (const { event_type, body } of entries) {
    const id = String(body.right_id)
    switch (event_type) {
      case 'port_right_created': {
        const [type, holder, target] = [body.right_type, body.holder, body.target].map(String)
        rights.set(id, { id, type: type!, holder: holder!, target: target! })
        break
      }
      case 'port_right_transferred':
        rights.set(id, { ...rights.get(id)!, holder: String(body.to_holder) })
        break
      case 'port_right_revoked':
      case 'port_right_consumed':
        rights.delete(id)
        break
      case 'workspace_state_changed':
        if (body.to_state === 'closed' || body.to_state === 'failed')
          for (const { id: of, holder, target } of [...rights.values()])
            if ([holder, target].includes(String(body.workspace_id))) rights.delete(of)
    }
  }
  return [...rights.values()]
}

const byId = (lines: readonly Line[]) =>
  lines
    .map(({ id, type, holder, target }) => ({ id, type, holder, target }))
    .toSorted((one, other) => (one.id < other.id ? -1 : 1))

/** The active rights that a question finds, each as `holder type target`. */
async function listed(kit: Kit, question: { holder?: string; target?: string }): Promise<readonly string[]> {
  const rights = await kit.do('runtime', 'list_rights', question)
  return rights
    .filter(({ status }) => status === 'active')
    .map(({ holder, type, target }) => `${kit.names.of(holder)} ${type} ${kit.names.of(target)}`)
    .toSorted()
}

scenario(
  'WP-078 the table of rights follows from the trail, and what ends with a workspace needs no entry',
  { level: 2, rules: ['W-PORT-11', 'W-PORT-05'], run: { taxonomy: NOTES } },
  async kit => {
    for (const name of ['W', 'W2', 'W3']) await kit.worker(name)
    await kit.grant('G1', 'send', 'W', 'W2')
    await kit.grant('G2', 'send_once', 'W', 'W3')
    await kit.grant('G3', 'send', 'W2', 'W3')
    await kit.grant('G4', 'send', 'W3', 'W2')
    await kit.send('E1', 'W', 'W3', 'note')
    await kit.send('E2', 'R', 'W', 'directive', { rights: [{ type: 'send', target: 'W3' }] })
    await kit.settle()
    await kit.send('E3', 'W2', 'R', 'query', { rights: [{ type: 'send', target: 'W3' }] })
    await kit.settle()
    await kit.do('R', 'revoke_right', { right: 'G4', reason: 'no more' })
    deepStrictEqual(await listed(kit, { holder: 'W' }), ['W receive W', 'W send R', 'W send W2', 'W send W3'])
    // One of the root's own came with the query.
    const towards = ['R send W3', 'R send W3', 'W send W3', 'W3 receive W3']
    deepStrictEqual(await listed(kit, { target: 'W3' }), towards)

    await kit.mark()
    await kit.do('R', 'abort', { workspace: 'W' })
    const types = (await kit.added()).map(({ event_type }) => event_type)
    deepStrictEqual(
      types.filter(type => type.startsWith('port_right')),
      [],
    )
    deepStrictEqual([await listed(kit, { holder: 'W' }), await listed(kit, { target: 'W' })], [[], []])
    const live = async () => byId((await kit.do('runtime', 'list_rights')).filter(({ status }) => status === 'active'))
    const before = await live()
    deepStrictEqual(byId(rebuilt(await kit.entries())), before)
    await kit.restart()
    deepStrictEqual(await live(), before)
  },
)
