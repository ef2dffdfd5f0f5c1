// The trail as it is written: headers, scopes, order, what stays as it is, where it begins (wacp-mechanisms 1.1, 1.2).
import { deepStrictEqual } from 'node:assert'
import { failure, noCheckpoint } from '../../entry-rows.ts'
import type { Entry } from '../../host.ts'
import type { Kit } from '../../kit.ts'
import { ANY } from '../../rows.ts'
import { scenario } from '../../scenario.ts'
import { must } from '../../stage.ts'
import { changing, restamped } from '../stored.ts'

/** Everything that a filter finds, page by page. */
async function found(kit: Kit, filter: Readonly<Record<string, unknown>>): Promise<readonly Entry[]> {
  const entries: Entry[] = []
  for (let more = true, after: number | undefined; more; ) {
    const page = await kit.do('runtime', 'query_trail', { ...filter, ...(after !== undefined && { after }) })
    entries.push(...page.entries)
    after = page.cursor
    more = page.more
  }
  return entries
}

const ids = (entries: readonly Entry[]) => entries.map(({ id }) => id)

scenario(
  'WM-001 ids, timestamps and actors are the runtime’s, and whoever brings some is rejected',
  { level: 1, rules: ['W-TRAIL-01', 'W-CLOCK-01'] },
  async kit => {
    await kit.worker('W')
    await kit.mark()
    const draft = await kit.checkpointDraft('W')
    const given = [{ id: 'mine' }, { timestamp: '2020-01-01T00:00:00.000000Z' }, { actor: 'system' }]
    for (const own of given)
      await kit.refuses('REJECTED', 'W', 'create_checkpoint', { ...draft, ...own }, 'invalid_structure')
    await kit.expectAdded(given.map(() => noCheckpoint('W', 'invalid_structure')))
    deepStrictEqual((await kit.look('W')).register, [])
    const newest = (await kit.entries()).at(-1)!
    await kit.checkpoint('K', 'W')
    const [entry] = (await kit.added()).filter(({ event_type }) => event_type === 'checkpoint_created')
    const { id, timestamp, workspace, actor, seq, body } = entry!
    deepStrictEqual([workspace, actor, seq], [kit.id('W'), 'worker', newest.seq + 1])
    deepStrictEqual([body.checkpoint_id, body.workspace], [kit.id('K'), kit.id('W')])
    deepStrictEqual([typeof id, id === '', id === kit.id('K')], ['string', false, false])
    deepStrictEqual([body.timestamp, timestamp > newest.timestamp], [timestamp, true])
    deepStrictEqual(
      (await kit.look('W')).register.map(line => line.id),
      [kit.id('K')],
    )
  },
)

scenario(
  'WM-005 one event has one entry: a checkpoint, its signal, and one warning beside it',
  { level: 2, rules: ['W-TRAIL-04'] },
  async kit => {
    await kit.worker('W', { budget: { compute_budget: { token_limit: 100 } } })
    await kit.faults.meter(kit.run, kit.id('W'), { tokens: 79 })
    await kit.mark()
    await Promise.all([
      kit.faults.meter(kit.run, kit.id('W'), { tokens: 2 }),
      kit.do('W', 'create_checkpoint', { ...(await kit.checkpointDraft('W')) }),
    ])
    await kit.advance(1)
    const added = await kit.added()
    deepStrictEqual(added.map(({ event_type }) => event_type).toSorted(), [
      'budget_warning',
      'checkpoint_created',
      'signal_delivered',
      'signal_emitted',
    ])
    const warning = added.find(({ event_type }) => event_type === 'budget_warning')!.body
    deepStrictEqual(
      [warning.budget_dimension, warning.consumed, warning.limit, warning.threshold_percent],
      ['token_limit', 81, 100, 80],
    )
    const signal = added.find(({ event_type }) => event_type === 'signal_emitted')!
    deepStrictEqual([signal.actor, signal.body.type], ['protocol', 'checkpoint'])
  },
)

scenario(
  'WM-007 a local trail is the global one filtered by workspace, and what belongs to none is in none',
  { level: 1, rules: ['W-TRAIL-06'] },
  async kit => {
    const names = ['W1', 'W2', 'W3']
    for (const name of names) await kit.worker(name)
    for (const [round, name] of [...names, ...names].entries()) {
      await kit.checkpoint(`K${round}`, name)
      await kit.send(`E${round}`, 'R', names[round % 3]!, 'feedback')
      await kit.emit(name, 'blocked', { reason: 'waiting' })
      await kit.emit(name, 'started')
    }
    await kit.bring('W3', 'failed')
    // What a workspace says behind its end belongs to none.
    await kit.emit('W3', 'complete')
    await kit.settle()
    const global = await kit.entries()
    deepStrictEqual(
      global.some(({ workspace }) => workspace === null),
      true,
    )
    deepStrictEqual(ids(await found(kit, { scope: 'global' })), ids(global))
    for (const name of ['R', ...names]) {
      const local = await found(kit, { scope: 'local', workspace: name })
      const own = global.filter(({ workspace }) => workspace === kit.id(name))
      deepStrictEqual(
        local.map(({ id, seq, event_type }) => [id, seq, event_type]),
        own.map(({ id, seq, event_type }) => [id, seq, event_type]),
        name,
      )
    }
  },
)

scenario(
  'WM-008 order and cursor follow the sequence; equal times are concurrent, and a cause precedes its effect',
  { level: 1, rules: ['W-TRAIL-07', 'W-CLOCK-02', 'W-CLOCK-06'], sound: false },
  async kit => {
    await kit.worker('W1')
    await kit.worker('W2')
    await kit.checkpoint('K1', 'W1')
    await kit.advance(1000)
    await kit.checkpoint('K2', 'W2')
    await kit.advance(1000)
    const lower = (await kit.entries()).at(-1)!.timestamp
    await kit.advance(1000)
    await kit.send('E', 'W1', 'R', 'query')
    await kit.settle()
    const before = await kit.entries()
    const seqOf = (type: string, field: string, name: string) =>
      before.find(({ event_type, body }) => event_type === type && body[field] === kit.id(name))!.seq
    const first = seqOf('checkpoint_created', 'checkpoint_id', 'K1')
    const second = seqOf('checkpoint_created', 'checkpoint_id', 'K2')
    const sent = seqOf('envelope_created', 'envelope_id', 'E')
    const placed = seqOf('envelope_delivered', 'envelope_id', 'E')
    // One microsecond behind what the root heard last, and a second before the envelope was made.
    const early = lower.replace(/(\d{6})Z$/, digits => `${String(Number(digits.slice(0, 6)) + 1).padStart(6, '0')}Z`)
    await kit.restart({
      meanwhile: () =>
        kit.faults.stored.forge(
          kit.run,
          changing(entry => {
            if (entry.seq === second) return restamped(entry, before[first - 1]!.timestamp)
            return entry.seq === placed ? restamped(entry, early) : entry
          }),
        ),
    })
    const all = await kit.entries()
    const at = (seq: number) => all.find(entry => entry.seq === seq)!
    deepStrictEqual(at(first).timestamp, at(second).timestamp)
    deepStrictEqual(at(placed).timestamp < at(sent).timestamp, true)
    for (const [seq, name] of [
      [first, 'tie1'],
      [second, 'tie2'],
      [sent, 'sent'],
      [placed, 'placed'],
    ] as const)
      kit.name(at(seq).id, name)
    deepStrictEqual(
      (await found(kit, { scope: 'global' })).map(({ seq }) => seq),
      all.map((_, index) => index + 1),
    )
    const page = await kit.do('runtime', 'query_trail', { limit: second })
    deepStrictEqual([page.cursor, page.more, page.entries.at(-1)!.id], [second, true, kit.id('tie2')])
    const next = await kit.do('runtime', 'query_trail', { after: page.cursor, limit: 1 })
    deepStrictEqual(
      next.entries.map(({ seq }) => seq),
      [second + 1],
    )
    const relation = async (one: string, other: string) =>
      (await kit.do('runtime', 'compare_entries', { first: one, second: other })).relation
    deepStrictEqual(await relation('tie1', 'tie2'), 'concurrent')
    deepStrictEqual(await relation('sent', 'placed'), 'before')
    deepStrictEqual(await relation('placed', 'sent'), 'after')
    deepStrictEqual(await relation('tie1', 'placed'), 'before')
  },
)

scenario(
  'WM-009 what a workspace says behind its end is on record, moves nothing, and is nothing to recover',
  { level: 2, rules: ['W-TRAIL-08', 'W-REC-12'] },
  async kit => {
    await kit.worker('W', { timeout: 1000 })
    await kit.mark()
    await kit.advance(1001)
    await kit.expectAdded(failure('W', 'active', 'timeout'))
    const local = await found(kit, { scope: 'local', workspace: 'W' })
    deepStrictEqual(local.at(-1)!.event_type, 'workspace_state_changed')
    await kit.emit('W', 'complete')
    await kit.expectAdded([['signal_emitted', null, 'worker', { from: 'W', type: 'complete' }]])
    deepStrictEqual(await kit.state('W'), 'failed')
    await kit.restart({ crash: true })
    await kit.expectAdded([['recovery_completed', null, 'protocol', { quarantined_entries: 0, signals_requeued: 0 }]])
    deepStrictEqual(await found(kit, { scope: 'local', workspace: 'W' }), local)
  },
)

scenario(
  'WM-010 an entry is neither changed nor deleted, whoever asks',
  { level: 1, rules: ['W-TRAIL-09'] },
  async kit => {
    await kit.worker('W')
    await kit.settle()
    const before = await kit.entries()
    for (const { id } of [before[0]!, before[4]!, before.at(-1)!])
      for (const caller of ['R', 'runtime']) {
        await kit.refuses('IMMUTABLE', caller, 'update_entry', { entry: id })
        await kit.refuses('IMMUTABLE', caller, 'delete_entry', { entry: id })
      }
    await kit.settle()
    deepStrictEqual(await kit.entries(), before)
  },
)

scenario(
  'WM-014 the trail of a run, and that of each workspace, begins with its creation and with nothing before it',
  { level: 2, rules: ['W-TRAIL-13'], opened: false },
  async kit => {
    must(await kit.open())
    if (kit.level >= 2) await kit.user('ux')
    const lists = { roles: [], envelope_types: [], checkpoint_types: [] }
    const taxonomy = { id: 'own', version: '1.2.0', protocol_version: '0.1', ...lists }
    must(await kit.start({ taxonomy }))
    const [first] = await kit.entries()
    deepStrictEqual([first!.seq, first!.prev_hash, first!.workspace], [1, null, kit.id('R')])
    await kit.expectAmong([
      [
        'workspace_created',
        'R',
        'protocol',
        {
          workspace_id: 'R',
          parent: null,
          hash_algorithm: (name: string) => ['sha-256', 'sha-384', 'sha-512'].includes(name),
          taxonomy_id: 'own',
          taxonomy_version: '1.2.0',
          protocol_version: ANY,
          deployment_model: ANY,
        },
      ],
    ])
    deepStrictEqual(first!.body.hash_algorithm, first!.integrity!.algorithm)
    await kit.emit('R', 'started')
    await kit.workspace('W')
    const local = await found(kit, { scope: 'local', workspace: 'W' })
    deepStrictEqual([local[0]!.event_type, local[0]!.prev_hash], ['workspace_created', null])
    const global = (await kit.entries()).find(({ id }) => id === local[0]!.id)!
    deepStrictEqual([global.seq > 1, typeof global.prev_hash], [true, 'string'])
    deepStrictEqual(global.body.taxonomy_id, undefined)
  },
)
