// Ids: opaque, unique and lasting, in one run and beyond it (wacp-primitives 7).
import { deepStrictEqual, notDeepStrictEqual } from 'node:assert'
import type { Entry } from '../../host.ts'
import type { Kit } from '../../kit.ts'
import { scenario, scenarios } from '../../scenario.ts'
import { must } from '../../stage.ts'

/** Where an object's id is first recorded. */
const BORN: Readonly<Record<string, string>> = {
  workspace_created: 'workspace_id',
  envelope_created: 'envelope_id',
  envelope_rejected: 'envelope_id',
  signal_emitted: 'signal_id',
  checkpoint_created: 'checkpoint_id',
  graph_created: 'graph_id',
  task_created: 'task_id',
  port_right_created: 'right_id',
}

/** The ids of all objects and entries, each taken where it was created. */
function idsOf(entries: readonly Entry[]): readonly string[] {
  return entries.flatMap(({ id, event_type, body }) => {
    const field = BORN[event_type]
    const artifacts = (body.artifact_ids ?? []) as readonly string[]
    return [id, ...(field === undefined ? [] : [String(body[field])]), ...artifacts]
  })
}

function expectDistinct(ids: readonly string[], what: string): void {
  deepStrictEqual(
    ids.filter((id, index) => ids.indexOf(id) !== index),
    [],
    what,
  )
}

/** What entries of a type hold in a field, in the order of their sequence numbers. */
function inOrder(entries: readonly Entry[], type: string, field: string, among: object): readonly string[] {
  return entries
    .filter(({ event_type, body }) => {
      const wanted = Object.entries(among)
      return event_type === type && wanted.every(([key, value]) => body[key] === value)
    })
    .map(({ body }) => String(body[field]))
}

/** The whole trail of the run, page by page. */
async function pages(kit: Kit, limit: number, order: 'ascending' | 'descending'): Promise<readonly number[]> {
  const found: number[] = []
  for (let after: number | undefined; ; ) {
    const query = { limit, order, ...(after !== undefined && { after }) }
    const { entries, cursor, more } = await kit.do('runtime', 'query_trail', query)
    found.push(...entries.map(({ seq }) => seq))
    if (!more) return found
    deepStrictEqual(cursor, entries.at(-1)?.seq)
    after = cursor
  }
}

scenario(
  'WP-079 ids without form or order change nothing: whatever has an order has it from the sequence numbers',
  {
    level: 1,
    rules: ['W-ID-01', 'W-ID-02', 'W-ID-03', 'W-ID-04', 'W-ID-06'],
    setup: { unorderedIds: true },
  },
  async kit => {
    const trails: string[][] = []
    for (const row of ['WP-002', 'WP-006', 'WP-051', 'WP-060'])
      for (const { play, title } of scenarios().filter(({ id }) => id === row)) {
        must(await kit.start(), `A run for ${title}`)
        await kit.emit('R', 'started')
        await kit.mark()
        await play(kit)
        trails.push([...idsOf(await kit.entries())])
      }
    expectDistinct(trails.flat(), 'no id appears on two objects')

    must(await kit.start())
    await kit.emit('R', 'started')
    for (let count = 1; count <= 6; count++) await kit.worker(`W${count}`)
    for (let count = 1; count <= 6; count++) await kit.checkpoint(`K${count}`, 'W1')
    const names = ['a', 'b', 'c', 'd', 'e', 'f']
    await kit.graph(Object.fromEntries(names.map(name => [name, {}])))
    deepStrictEqual(await kit.dispatchable(), names)

    const { status: _active, ...before } = await kit.look('W1')
    await kit.do('R', 'suspend', { workspace: 'W1', reason: 'pause' })
    for (let count = 1; count <= 6; count++) await kit.send(`E${count}`, 'R', 'W1', 'feedback')
    const { status: _suspended, ...paused } = await kit.look('W1')
    for (const key of ['id', 'parent', 'directive', 'register', 'memory'] as const)
      deepStrictEqual(paused[key], before[key], `${key} through the suspension`)
    await kit.do('R', 'resume', { workspace: 'W1' })
    await kit.settle()
    deepStrictEqual(await kit.inbox('W1'), ['E1', 'E2', 'E3', 'E4', 'E5', 'E6'])

    const entries = await kit.entries()
    const children = inOrder(entries, 'workspace_created', 'workspace_id', { parent: kit.id('R') })
    deepStrictEqual((await kit.look('R')).children, children)
    notDeepStrictEqual(children.toSorted(), children, 'the ids are not in order by chance')
    const chain = inOrder(entries, 'checkpoint_created', 'checkpoint_id', { workspace: kit.id('W1') })
    deepStrictEqual(
      (await kit.look('W1')).register.map(({ id }) => id),
      chain,
    )
    const seqs = entries.map(({ seq }) => seq)
    for (const limit of [7, 1000]) {
      deepStrictEqual(await pages(kit, limit, 'ascending'), seqs)
      deepStrictEqual(await pages(kit, limit, 'descending'), seqs.toReversed())
    }
    // The id of what was rejected is used up.
    await kit.refuses('REJECTED', 'W1', 'send_envelope', { ...kit.mail('R', 'directive') })
    await kit.send('Q', 'W1', 'R', 'query')
    expectDistinct([...trails.flat(), ...idsOf(await kit.entries())], 'with the last run')
  },
)

scenario(
  'WP-080 two runs on one store share no id, old references stay good, and a lost object is an integrity violation',
  { level: 2, rules: ['W-ID-03', 'W-ID-08', 'W-USER-18'] },
  async kit => {
    const first = kit.run
    const work = async (suffix: string) => {
      await kit.graph({ [`T${suffix}`]: {} }, { graph: `G${suffix}` })
      await kit.bound(`W${suffix}`, `T${suffix}`, { owner: 'uy', group: 'team' })
      await kit.checkpoint(`K${suffix}`, `W${suffix}`, {
        payload: { content: 'part', artifacts: [{ path: 'a' }] },
      })
      await kit.settle()
      return kit.entries()
    }
    const one = await work('1')
    must(await kit.start(), 'The second run')
    await kit.emit('R', 'started')
    const other = await work('2')
    expectDistinct([...idsOf(one), ...idsOf(other)], 'no collision')

    await kit.do('runtime', 'deactivate_user', { user: 'uy', reason: 'left' })
    await kit.restart()
    kit.run = first
    const { owner, originator } = await kit.look('W1')
    deepStrictEqual([owner, originator], ['uy', 'system'])
    const checkpoint = await kit.do('runtime', 'get_checkpoint', { checkpoint: 'K1' })
    deepStrictEqual(checkpoint.workspace, kit.id('W1'))
    deepStrictEqual((await kit.task('T1')).workspace_history, [kit.id('W1')])
    deepStrictEqual(await kit.do('runtime', 'topology', { question: 'owned_by', about: 'uy' }), [kit.id('W1')])
    const kept = (await kit.entries()).slice(0, one.length)
    deepStrictEqual(kept, one)

    await kit.mark()
    const { halted } = await kit.restart({
      meanwhile: () =>
        kit.faults.stored.rewrite(first, records =>
          records.filter(record => record.kind === 'entry' || record.id !== kit.id('K1')),
        ),
    })
    const report = halted.find(({ run }) => run === first)?.report
    if (report !== undefined) {
      deepStrictEqual(report.includes(kit.id('K1')), true, `the report names what is missing: ${report}`)
      return
    }
    const entry = one.find(({ body }) => body.checkpoint_id === kit.id('K1'))!
    kit.name(entry.id, 'its entry')
    const found = { subject_type: 'trail_entry', subject_id: 'its entry', action_taken: 'quarantined' }
    await kit.expectAmong([
      ['integrity_violation', null, 'protocol', found],
      ['recovery_completed', null, 'protocol', { quarantined_entries: 1 }],
    ])
    deepStrictEqual((await kit.look('W1')).register, [])
    await kit.refuses('NOT_FOUND', 'R', 'get_checkpoint', { checkpoint: 'K1' })
  },
)
