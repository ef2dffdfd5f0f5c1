// What a reading of the text alone asks of what lies at rest: mail and checkpoints that were changed in the store
// (wacp-audit).
import { deepStrictEqual, ok } from 'node:assert'
import { SC } from '../../entry-rows.ts'
import type { StoredRecord } from '../../faults.ts'
import { ANSWERING, another, only } from '../../gated.ts'
import type { Kit } from '../../kit.ts'
import type { Row } from '../../rows.ts'
import { scenario } from '../../scenario.ts'

type StoredObject = Extract<StoredRecord, { kind: 'object' }>

/** Somebody with access to the store changes one object. */
async function change(kit: Kit, name: string, how: (value: Record<string, unknown>) => unknown): Promise<void> {
  const changed = (record: StoredRecord): StoredRecord =>
    record.kind === 'object' && record.id === kit.id(name)
      ? { ...record, value: how(record.value as Record<string, unknown>) }
      : record
  await kit.restart({
    meanwhile: () => kit.faults.stored.rewrite(kit.run, records => records.map(changed)),
  })
  await kit.mark()
}

/** Texts in objects of the store are others now; answers what the runtime says about each run that it has halted. */
async function replaced(kit: Kit, from: string, to: string): Promise<ReadonlyMap<string, string>> {
  let count = 0
  const changed = (record: StoredRecord): StoredRecord => {
    if (record.kind !== 'object' || !JSON.stringify(record.value).includes(from)) return record
    count++
    return { ...record, value: JSON.parse(JSON.stringify(record.value).replaceAll(from, to)) }
  }
  const { halted } = await kit.restart({
    meanwhile: () => kit.faults.stored.rewrite(kit.run, records => records.map(changed)),
  })
  deepStrictEqual(count > 0, true, `nothing that is stored says ${from}`)
  return new Map(halted.map(({ run, report }) => [run, report]))
}

function violation(subject_type: string, subject_id: string, what: string, action_taken: string): Row {
  return ['integrity_violation', null, 'protocol', { subject_type, subject_id, violation: what, action_taken }]
}

scenario(
  'WX-054 mail that was changed at rest is not handed over, and holds up nothing',
  { level: 2, rules: ['W-SEC-10', 'W-WS-21'] },
  async kit => {
    const payload = { format: 'markdown', content: 'something else' }
    const variants = {
      hash_mismatch: (value: Record<string, unknown>) => ({ ...value, payload }),
      proof_missing: ({ integrity: _integrity, ...value }: Record<string, unknown>) => value,
    }
    for (const [what, how] of Object.entries(variants)) {
      await another(kit, 'off')
      await kit.worker('W')
      await kit.send('E1', 'R', 'W', 'directive')
      await kit.send('E2', 'R', 'W', 'directive')
      await kit.settle()
      await change(kit, 'E1', how)
      await kit.refuses('REJECTED', 'W', 'consume_envelope', {}, 'integrity_violation')
      await kit.expectAdded([violation('envelope', 'E1', what, 'rejected')])
      deepStrictEqual(await kit.consume('W'), 'E2')
      deepStrictEqual(await kit.consume('W'), undefined)
    }
  },
)

scenario(
  'WX-055 a checkpoint that was changed while its acceptance waited at the gate is not merged',
  { level: 2, rules: ['W-INT-05', 'W-SEC-09'] },
  async kit => {
    await kit.user('ux', ANSWERING)
    await another(kit, only('integration'))
    await kit.worker('W')
    await kit.bring('W', 'integrating')
    kit.gate(await kit.call('R', 'decide_integration', { source: 'W', decision: 'accept' }), 'G')
    await change(kit, 'KW', value => JSON.parse(JSON.stringify(value).replace('"done"', '"nice"')))
    await kit.do('ux', 'answer_gate', { gate: 'G', action: 'approve' })
    const added = await kit.expectAmong([
      ['integration_started', 'W', 'system', { source: 'W', checkpoint_ref: 'KW' }],
      violation('checkpoint', 'KW', 'hash_mismatch', 'flagged'),
      ['integration_aborted', 'W', 'protocol', { source: 'W', reason: 'integrity_violation' }],
      SC('W', 'integrating', 'failed', 'integration_error'),
    ])
    deepStrictEqual(
      added.filter(({ event_type }) => event_type === 'integration_completed'),
      [],
    )
  },
)

scenario(
  'WX-056 a creation that was changed while it waited at its gate halts the run and makes nothing',
  { level: 2, rules: ['W-SEC-16', 'W-HWY-07'], sound: false },
  async kit => {
    await another(kit, only('workspace_create'))
    const draft = { role: 'worker', resources: ['area-of-docs'] }
    kit.gate(await kit.call('R', 'create_workspace', draft), 'G')
    await kit.settle()
    const report = (await replaced(kit, 'area-of-docs', 'area-of-root')).get(kit.run)
    ok(report?.includes(kit.id('G')), `the run is halted, and the report names the gate: ${report}`)
  },
)

scenario(
  'WX-057 content that was changed at rest halts its run, and no other',
  { level: 2, rules: ['W-SEC-16'], sound: false },
  async kit => {
    const other = kit.run
    await another(kit, 'off')
    await kit.graph({ T: { description: 'a text that nobody changes' } })
    await kit.settle()
    const halted = await replaced(kit, 'a text that nobody changes', 'another text')
    deepStrictEqual([halted.has(kit.run), halted.has(other)], [true, false])
  },
)

scenario(
  'WX-058 what a run rests on cannot be taken away, or passed off as something else',
  { level: 2, rules: ['W-SEC-16'], sound: false },
  async kit => {
    const ways: Readonly<Record<string, (object: StoredObject) => readonly StoredRecord[]>> = {
      'taken away': () => [],
      'under another id': object => [{ ...object, id: `${object.id}x` }],
      'changed, and of another kind': object => [{ ...object, type: 'checkpoint', value: { content: 'other' } }],
    }
    const runs = new Map<string, string>()
    for (const way of Object.keys(ways)) {
      await another(kit, 'off')
      const directive = { format: 'markdown', content: `a directive that is ${way}` }
      await kit.do('R', 'create_workspace', { role: 'worker', directive, dispatch: false })
      await kit.settle()
      runs.set(way, kit.run)
    }
    const found: string[] = []
    const changing = (way: string) => (record: StoredRecord) => {
      if (record.kind !== 'object' || !JSON.stringify(record.value).includes(`a directive that is ${way}`))
        return [record]
      found.push(way)
      return ways[way]!(record)
    }
    const { halted } = await kit.restart({
      meanwhile: async () => {
        for (const [way, run] of runs) await kit.faults.stored.rewrite(run, records => records.flatMap(changing(way)))
      },
    })
    deepStrictEqual(found, [...runs.keys()])
    const still = [...runs].filter(([, run]) => !halted.some(each => each.run === run))
    deepStrictEqual(still, [])
  },
)
