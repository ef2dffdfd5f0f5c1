// What the trail takes, how it is signed, watched and compacted (wacp-mechanisms 1.2 to 1.4).
import { deepStrictEqual } from 'node:assert'
import { canonicalize } from '@parley/core'
import { digestOf } from '../../chain.ts'
import type { ForeignEntry } from '../../faults.ts'
import type { TrailWatch } from '../../operations.ts'
import { scenario } from '../../scenario.ts'

scenario(
  'WM-004 the trail takes only what the registry knows, with whole bodies and without payloads',
  { level: 1, rules: ['W-TRAIL-03', 'W-TRAIL-32'] },
  async kit => {
    await kit.worker('W')
    await kit.mark()
    const W = kit.id('W')
    const checkpoint = { checkpoint_id: 'k', workspace: W, type: 'artifact', confidence: 'low', parent: null }
    const entry = { workspace: W, actor: 'worker', event_type: 'checkpoint_created' }
    const given: readonly (readonly [entry: ForeignEntry, code: string])[] = [
      [{ ...entry, event_type: 'foo_bar', body: {} }, 'unknown_event_type'],
      [{ ...entry, body: checkpoint }, 'invalid_body'],
      [{ ...entry, body: { ...checkpoint, status: 'final', payload: 'text' } }, 'invalid_body'],
    ]
    for (const [foreign, code] of kit.level >= 3 ? given : given.slice(0, 2))
      deepStrictEqual(await kit.faults.entry(kit.run, foreign), code, foreign.event_type)
    await kit.expectAdded([])
  },
)

scenario(
  'WM-016 one signature that was replaced is found among all others',
  { level: 3, rules: ['W-TRAIL-15'], setup: { signing: true }, sound: false },
  async kit => {
    await kit.worker('W')
    await kit.do('R', 'abort', { workspace: 'W' })
    await kit.do('runtime', 'close_run')
    deepStrictEqual((await kit.do('runtime', 'verify_trail')).findings, [])
    await kit.restart({
      meanwhile: () =>
        kit.faults.stored.rewrite(kit.run, records =>
          records.map(record =>
            record.kind === 'entry' && record.entry.seq === 3
              ? {
                  ...record,
                  entry: {
                    ...record.entry,
                    integrity: { ...record.entry.integrity!, signature: '00'.repeat(64) },
                  },
                }
              : record,
          ),
        ),
    })
    await kit.mark()
    const { findings } = await kit.do('runtime', 'verify_trail')
    deepStrictEqual(
      findings.map(({ seq, violation }) => [seq, violation]),
      [[3, 'signature_invalid']],
    )
    await kit.expectAmong([
      ['integrity_violation', null, 'protocol', { subject_type: 'trail_entry', violation: 'signature_invalid' }],
    ])
  },
)

scenario(
  'WM-021 whoever watches gets everything in order, and nobody waits for one who does not read',
  { level: 2, rules: ['W-TRAIL-21', 'W-HWY-02'] },
  async kit => {
    await kit.worker('W')
    await kit.mark()
    const first = (await kit.entries()).length
    const idle = await kit.do('runtime', 'watch_trail', { after: first })
    const reader = await kit.do('runtime', 'watch_trail', { after: first })
    const EVENTS = 1000
    for (let count = 0; count < EVENTS / 2; count++) {
      await kit.emit('W', 'blocked', { reason: 'waiting' })
      await kit.emit('W', 'started')
    }
    const last = (await kit.entries()).length
    const read = async (watch: TrailWatch, from: number, upTo: number) => {
      const seen: number[] = []
      while ((seen.at(-1) ?? from) < upTo) seen.push(...(await watch.next()).entries.map(({ seq }) => seq))
      await watch.stop()
      return seen
    }
    const all = Array.from({ length: last - first }, (_, index) => first + index + 1)
    deepStrictEqual(await read(reader, first, last), all)
    const cut = first + 700
    const again = await kit.do('runtime', 'watch_trail', { after: cut })
    deepStrictEqual(await read(again, cut, last), all.slice(700))
    await idle.stop()
    const added = await kit.expectNone('trail_access_denied')
    deepStrictEqual(added.length, all.length)
  },
)

scenario(
  'WM-025 compaction moves what is archivable once, and says how much',
  { level: 3, rules: ['W-TRAIL-27', 'W-TRAIL-24'] },
  async kit => {
    await kit.worker('W')
    for (const name of ['E1', 'E2']) await kit.send(name, 'R', 'W', 'feedback')
    await kit.emit('W', 'blocked', { reason: 'waiting' })
    await kit.emit('W', 'started')
    await kit.checkpoint('K1', 'W')
    await kit.bring('W', 'closed')
    await kit.mark()
    const local = (await kit.entries()).filter(({ workspace }) => workspace === kit.id('W'))
    const moves = local.filter(
      ({ event_type, body }) => event_type === 'workspace_state_changed' && body.to_state !== 'closed',
    )
    const mail = local.filter(({ event_type }) => event_type === 'envelope_delivered')
    deepStrictEqual([moves.length, mail.length], [4, 3])
    const archived = local.filter(entry => moves.includes(entry) || mail.includes(entry))
    deepStrictEqual((await kit.do('runtime', 'compact', { workspace: 'W' })).archived, 7)
    const hashes = archived.map(({ integrity }) => integrity?.local_hash)
    const summary = {
      workspace: 'W',
      entries_archived: 7,
      entries_preserved: local.length - 7,
      archive_range: { from: archived[0]!.timestamp, to: archived.at(-1)!.timestamp },
      archive_hash: digestOf(archived[0]!.integrity!.algorithm, canonicalize(hashes)),
    }
    await kit.expectAdded([['trail_compacted', null, 'protocol', summary]])
    deepStrictEqual((await kit.do('runtime', 'tier_of', { seq: archived[0]!.seq })).tier, 'cold')
    deepStrictEqual((await kit.do('runtime', 'compact', { workspace: 'W' })).archived, 0)
    await kit.expectAdded([])
    const { entries } = await kit.do('runtime', 'query_trail', { workspace: 'W' })
    deepStrictEqual(
      entries.map(({ seq }) => seq),
      local.map(({ seq }) => seq),
    )
  },
)
