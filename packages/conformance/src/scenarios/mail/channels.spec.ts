// Channels: the graph of rights, how they are used, travel and end, order and threads (wacp-mechanisms 7.4).
import { deepStrictEqual, ok } from 'node:assert'
import { created, delivered, receipt, rejected, right, SC } from '../../entry-rows.ts'
import { type Kit, NOTES } from '../../kit.ts'
import { scenario } from '../../scenario.ts'

scenario(
  'WM-098 the first rights follow the matrix; mail between workers takes a registered type and a right',
  { level: 1, rules: ['W-TOPO-CHAN-01', 'W-TOPO-CHAN-02', 'W-TOPO-CHAN-03'], run: { taxonomy: NOTES } },
  async kit => {
    await kit.workspace('W1')
    await kit.workspace('W2')
    await kit.workspace('O', { role: 'observer' })
    const made = await kit.expectAmong([
      ...['W1', 'W2'].flatMap(name => [
        ['workspace_created', name, 'system'] as const,
        right('receive', name, name),
        right('send', 'R', name),
        right('send', name, 'R'),
      ]),
      ['workspace_created', 'O', 'system'],
      right('receive', 'O', 'O'),
    ])
    deepStrictEqual(made.filter(each => each.event_type === 'port_right_created').length, 7)
    for (const name of ['W1', 'W2']) await kit.send(`to ${name}`, 'R', name, 'directive')
    await kit.mark()

    const note = { ...kit.mail('W2', 'note') }
    await kit.refuses('REJECTED', 'W1', 'send_envelope', note, 'no_send_right')
    await kit.expectAdded([rejected('W1', 'no_send_right')])
    await kit.grant('once', 'send_once', 'W1', 'W2')
    await kit.mark()
    await kit.refuses('REJECTED', 'W1', 'send_envelope', { ...kit.mail('W2', 'query') }, 'permission_denied')
    await kit.expectAdded([rejected('W1', 'permission_denied')])
    deepStrictEqual(
      (await kit.rights('W1', 'W2')).map(({ id }) => kit.names.of(id)),
      ['once'],
    )
    const [first, second] = await Promise.all([
      kit.call('W1', 'send_envelope', note),
      kit.call('W1', 'send_envelope', note),
    ])
    ok(first?.ok, 'The first note is accepted')
    deepStrictEqual(second && !second.ok && [second.refused, second.reason], ['REJECTED', 'no_send_right'])
    kit.name(first.value.envelope, 'N')
    const added = await kit.expectAmong([
      created('N', 'W1', 'W2', 'note'),
      ['port_right_consumed', 'W1', 'protocol', { right_id: 'once', via_envelope: 'N' }],
      delivered('N', 'W1', 'W2'),
    ])
    deepStrictEqual(added.filter(each => each.event_type === 'envelope_rejected').length, 1)
    deepStrictEqual(await kit.rights('W1', 'W2'), [])
  },
)

scenario(
  'WM-099 rights are revoked, travel and end with their holder, while mail in flight arrives',
  { level: 1, rules: ['W-TOPO-CHAN-04', 'W-TOPO-CHAN-05', 'W-TOPO-CHAN-07'], run: { taxonomy: NOTES } },
  async kit => {
    for (const name of ['W1', 'W2', 'W3', 'W4']) await kit.worker(name)
    for (const name of ['W2', 'W3', 'W4']) await kit.grant(`to ${name}`, 'send', 'W1', name)
    await kit.mark()
    const { transport } = kit.faults
    transport.rule(() => 'delay')
    await kit.send('N1', 'W1', 'W2', 'note')
    await kit.do('R', 'revoke_right', { right: 'to W2', reason: 'test' })
    await kit.expectAdded([
      created('N1', 'W1', 'W2', 'note'),
      ['port_right_revoked', 'W1', 'system', { right_id: 'to W2' }],
    ])
    transport.release()
    await kit.expectAdded([delivered('N1', 'W1', 'W2'), ...receipt('N1', 'W1', 'W2')])
    transport.rule(() => 'pass')
    await kit.refuses('REJECTED', 'W1', 'send_envelope', { ...kit.mail('W2', 'note') }, 'no_send_right')
    await kit.expectAdded([rejected('W1', 'no_send_right')])

    const receive = { ...kit.mail('W3', 'note'), rights: [{ type: 'receive', target: 'W1' }] }
    await kit.refuses('REJECTED', 'W1', 'send_envelope', receive, 'invalid_structure')
    await kit.expectAdded([rejected('W1', 'invalid_structure')])

    await kit.send('N2', 'W1', 'W3', 'note', { rights: [{ type: 'send', target: 'W4' }] })
    await kit.expectAmong([
      created('N2', 'W1', 'W3', 'note'),
      delivered('N2', 'W1', 'W3'),
      [
        'port_right_transferred',
        'W3',
        'protocol',
        { right_id: 'to W4', from_holder: 'W1', to_holder: 'W3', target: 'W4', via_envelope: 'N2' },
      ],
    ])
    await kit.refuses('REJECTED', 'W1', 'send_envelope', { ...kit.mail('W4', 'note') }, 'no_send_right')
    await kit.expectAdded([rejected('W1', 'no_send_right')])
    deepStrictEqual((await kit.rights('W3', 'W4')).length, 1)

    await kit.emit('W3', 'failed', { reason: 'gone' })
    const ended = await kit.expectAmong([SC('W3', 'active', 'failed', 'agent_failed', { reason: 'gone' })])
    deepStrictEqual(
      ended.filter(each => each.event_type.startsWith('port_right_')),
      [],
    )
    for (const [holder, target] of [
      ['W3', 'W4'],
      ['W3', 'R'],
      ['R', 'W3'],
      ['W1', 'W3'],
    ] as const)
      deepStrictEqual(await kit.rights(holder, target), [], `${holder} to ${target}`)
    await kit.refuses('REJECTED', 'W1', 'send_envelope', { ...kit.mail('W3', 'note') }, 'target_terminal')
    await kit.expectAdded([rejected('W1', 'target_terminal')])
  },
)

/** Sends one that answers another, or nothing. */
async function say(kit: Kit, name: string, from: string, to: string, in_reply_to?: string): Promise<void> {
  await kit.send(name, from, to, 'note', in_reply_to === undefined ? {} : { in_reply_to })
}

scenario(
  'WM-100 mail of one pair arrives in order through one channel, and threads are trees across channels',
  { level: 2, rules: ['W-TOPO-CHAN-06', 'W-TOPO-CHAN-08'], run: { taxonomy: NOTES } },
  async kit => {
    await kit.worker('A')
    await kit.worker('B')
    await kit.grant('one', 'send', 'A', 'B')
    await kit.grant('two', 'send', 'A', 'B')
    await kit.grant('back', 'send', 'B', 'A')
    await kit.mark()
    // Every other first attempt is lost, and letters of others come in between.
    let seen = 0
    kit.faults.transport.rule(({ attempt }) => (attempt < 3 && seen++ % 2 === 0 ? 'drop' : 'pass'))
    const sent: readonly [string, string | undefined][] = [
      ['e1', undefined],
      ['e2', 'e1'],
      ['e3', 'e1'],
      ['e4', 'e2'],
      ['e5', undefined],
    ]
    for (const [name, answers] of sent) {
      await say(kit, name, 'A', 'B', answers)
      for (let noise = 0; noise < 10; noise++) await kit.send(`${name} ${noise}`, 'R', 'B', 'feedback')
    }
    await say(kit, 'f1', 'B', 'A', 'e2')
    for (let turn = 0; turn < 40; turn++) await kit.advance(1000)
    const names = sent.map(([name]) => name)
    const added = await kit.expectAmong(names.map(name => delivered(name, 'A', 'B')))
    const channel = added
      .filter(each => each.event_type === 'envelope_delivered' && each.body.from === kit.id('A'))
      .map(each => kit.names.of(String(each.body.envelope_id)))
    deepStrictEqual(channel, names)
    const consumed: string[] = []
    for (;;) {
      const next = await kit.consume('B')
      if (next === undefined) break
      if (names.includes(next)) consumed.push(next)
    }
    deepStrictEqual(consumed, names)

    const thread = async (envelope: string) =>
      (await kit.do('R', 'get_thread', { envelope })).map(each => [
        kit.names.of(each.id),
        each.in_reply_to === null ? null : kit.names.of(each.in_reply_to),
      ])
    const whole = [
      ['e1', null],
      ['e2', 'e1'],
      ['e3', 'e1'],
      ['e4', 'e2'],
      ['f1', 'e2'],
    ]
    for (const envelope of ['e1', 'e3', 'f1']) deepStrictEqual(await thread(envelope), whole, envelope)
    deepStrictEqual(await thread('e5'), [['e5', null]])
  },
)
