// Who may send what to whom, and rights that are used up (wacp-primitives 9, 10; taxonomy 11).
import { deepStrictEqual } from 'node:assert'
import { created, noCheckpoint, rejected } from '../../entry-rows.ts'
import { NOTES } from '../../kit.ts'
import { scenario } from '../../scenario.ts'
import { must, refused } from '../../stage.ts'

scenario(
  'WP-066 of the base types only those of the matrix pass, whatever rights there are',
  { level: 1, rules: ['W-ROLE-03', 'W-ROLE-05', 'W-ROLE-06', 'W-PORT-04'] },
  async kit => {
    await kit.worker('W')
    await kit.worker('W2')
    await kit.observer('O')
    const everybody = ['R', 'W', 'W2', 'O']
    // Rights alone permit nothing; whether an observer can be given one at all is not what the row is about.
    for (const from of everybody)
      for (const to of everybody)
        if (from !== to) await kit.call('R', 'grant_right', { type: 'send', holder: from, target: to })
    await kit.mark()
    const workers = ['W', 'W2']
    const allowed = (from: string, to: string, type: string) =>
      type === 'query' ? workers.includes(from) && to === 'R' : from === 'R' && workers.includes(to)
    for (const from of everybody)
      for (const to of everybody.filter(each => each !== from))
        for (const type of ['directive', 'feedback', 'query']) {
          const outcome = await kit.call(from, 'send_envelope', { ...kit.mail(to, type) })
          deepStrictEqual(outcome.ok, allowed(from, to, type), `${type} from ${from} to ${to}`)
          if (outcome.ok) {
            kit.name(outcome.value.envelope, 'E')
            await kit.expectAmong([
              created('E', from, to, type),
              ['envelope_delivered', to, 'protocol', { envelope_id: 'E' }],
            ])
          } else await kit.expectAdded([rejected(from, 'permission_denied')])
        }
  },
)

scenario(
  'WP-074 a send_once serves one accepted envelope, and one only',
  {
    level: 1,
    rules: ['W-PORT-01', 'W-PORT-02', 'W-PORT-05', 'W-PORT-07', 'W-PORT-10', 'W-ENV-05'],
    run: { taxonomy: NOTES },
  },
  async kit => {
    await kit.worker('W')
    await kit.worker('W2')
    await kit.grant('once', 'send_once', 'W', 'W2')
    await kit.mark()
    await kit.refuses('REJECTED', 'W', 'send_envelope', { ...kit.mail('W2', 'note'), priority: 'high' })
    await kit.expectAdded([rejected('W', 'invalid_structure')])
    await kit.send('E', 'W', 'W2', 'note')
    await kit.expectAmong([
      created('E', 'W', 'W2', 'note'),
      ['port_right_consumed', 'W', 'protocol', { right_id: 'once', holder: 'W', target: 'W2', via_envelope: 'E' }],
    ])
    await kit.refuses('REJECTED', 'W', 'send_envelope', { ...kit.mail('W2', 'note') }, 'no_send_right')
    await kit.expectAdded([rejected('W', 'no_send_right')])
    await kit.grant('again', 'send_once', 'W', 'W2')
    await kit.mark()
    const racing = await Promise.all([1, 2].map(() => kit.call('W', 'send_envelope', { ...kit.mail('W2', 'note') })))
    deepStrictEqual(racing.map(({ ok }) => ok).toSorted(), [false, true])
    const added = await kit.expectAmong([
      ['port_right_consumed', 'W', 'protocol', { right_id: 'again' }],
      rejected('W', 'no_send_right'),
    ])
    deepStrictEqual(added.filter(({ event_type }) => event_type === 'envelope_created').length, 1)
  },
)

const helper = { name: 'helper', extends: 'worker', add: [], remove: [] }
const route = (type: string, role: string) => ({ action: 'send', target: { type, role } })

/** Definitions that reach beyond their base (W-ROLE-08, -09). */
const TOO_HIGH: Readonly<Record<string, object>> = {
  'extends a derived role': { extends: 'helper' },
  'extends the coordinator': { extends: 'coordinator' },
  'adds directive': { add: [route('directive', 'worker')] },
  'adds create_workspace': { add: [{ action: 'create_workspace', target: 'any' }] },
  'an observer that sends': { extends: 'observer', add: [route('query', 'coordinator')] },
}

scenario(
  'WP-068 a role that reaches beyond its base refuses the whole taxonomy; one below it is resolved',
  { level: 1, rules: ['W-ROLE-08', 'W-ROLE-09', 'W-ROLE-07', 'W-TAX-05'], opened: false },
  async kit => {
    must(await kit.open())
    const permitted_roles = ['helper', 'climber']
    const types = ['x', 'y'].map(name => ({ name, description: '', permitted_roles }))
    const taxonomy = (definition: object) => ({
      ...NOTES,
      roles: [helper, { ...helper, name: 'climber', ...definition }],
      checkpoint_types: types,
    })
    for (const [what, definition] of Object.entries(TOO_HIGH)) {
      const started = await kit.start({ taxonomy: taxonomy(definition) })
      refused(started, 'INVALID_ARGUMENT', undefined, what)
    }
    const resolved = {
      override: { checkpoint_types: ['y'] },
      add: [{ action: 'create', target: 'x' }],
      remove: [{ action: 'create', target: 'y' }],
    }
    if (kit.level >= 2) await kit.user('ux')
    must(await kit.start({ taxonomy: taxonomy(resolved) }))
    await kit.emit('R', 'started')
    await kit.worker('V', { role: 'climber' })
    await kit.mark()
    await kit.checkpoint('K', 'V', { type: 'x' })
    await kit.expectAmong([['checkpoint_created', 'V', 'climber', { checkpoint_id: 'K', type: 'x' }]])
    for (const type of ['y', 'artifact']) {
      const draft = await kit.checkpointDraft('V', { type })
      await kit.refuses('REJECTED', 'V', 'create_checkpoint', { ...draft }, 'permission_denied')
      await kit.expectAdded([noCheckpoint('V', 'permission_denied', { type })])
    }
  },
)
