// What gives tampering away: removed entries, the canonical form under every hash, anchors (wacp-mechanisms 1.2).
import { deepStrictEqual, notDeepStrictEqual } from 'node:assert'
import { canonicalize } from '@parley/core'
import { digestOf, hashesOf } from '../../chain.ts'
import type { ForeignEntry } from '../../faults.ts'
import type { Entry } from '../../host.ts'
import type { Kit } from '../../kit.ts'
import { scenario } from '../../scenario.ts'
import { changing, without } from '../stored.ts'

/** A run that has ended, so that it can be looked at whatever is wrong with it. */
async function ended(kit: Kit): Promise<readonly Entry[]> {
  await kit.worker('W')
  for (const name of ['K1', 'K2', 'K3']) await kit.checkpoint(name, 'W', { confidence: 'low' })
  await kit.do('R', 'abort', { workspace: 'W' })
  await kit.do('runtime', 'close_run')
  await kit.settle()
  deepStrictEqual((await kit.do('runtime', 'verify_trail')).findings, [])
  return kit.entries()
}

const violation = (subject_id: string, what: string) =>
  [
    'integrity_violation',
    null,
    'protocol',
    { subject_type: 'trail_entry', subject_id, violation: what, action_taken: 'flagged' },
  ] as const

scenario(
  'WM-011 an entry that was taken out of the store is missed by the one behind it',
  { level: 2, rules: ['W-TRAIL-10', 'W-TRAIL-16'], sound: false },
  async kit => {
    const entries = await ended(kit)
    deepStrictEqual(entries.length >= 10, true)
    kit.name(entries[5]!.id, 'sixth')
    await kit.restart({
      meanwhile: () =>
        kit.faults.stored.rewrite(
          kit.run,
          without(({ seq }) => seq === 5),
        ),
    })
    await kit.mark()
    const { findings } = await kit.do('runtime', 'verify_trail')
    deepStrictEqual([findings[0]?.seq, findings[0]?.violation], [6, 'chain_broken'])
    const added = await kit.expectAmong([violation('sixth', 'chain_broken')])
    deepStrictEqual(added.length, findings.length, 'one entry for each finding')
  },
)

scenario(
  'WM-012 the order of keys does not change a hash, and a body without a canonical form is not taken',
  { level: 2, rules: ['W-TRAIL-11'] },
  async kit => {
    await kit.worker('W')
    await kit.checkpoint('K', 'W', { resource_usage: { tokens_consumed: 1, wall_time: 2, cost: 3 } })
    await kit.settle()
    const before = await kit.entries()
    const { seq, body, actor, workspace } = before.find(({ event_type }) => event_type === 'checkpoint_created')!
    const reversed = Object.fromEntries(Object.entries(body).toReversed())
    notDeepStrictEqual(Object.keys(reversed), Object.keys(body))
    const entry = before[seq - 1]!
    const hashed = (of: Entry) => hashesOf(of, null, of.prev_hash ?? null)
    deepStrictEqual(hashed({ ...entry, body: reversed }), hashed(entry))
    const foreign: ForeignEntry = { workspace, actor, event_type: 'checkpoint_created', body: reversed }
    for (const cost of [Number.NaN, Number.POSITIVE_INFINITY]) {
      const resource_usage = { tokens_consumed: 1, wall_time: 2, cost }
      const refused = await kit.faults.entry(kit.run, { ...foreign, body: { ...reversed, resource_usage } })
      deepStrictEqual(refused, 'invalid_body', String(cost))
    }
    deepStrictEqual(await kit.entries(), before)
    // The same body with its keys the other way round is hashed alike: the chain that is recomputed at the end holds.
    deepStrictEqual(
      await kit.faults.entry(kit.run, { ...foreign, body: { ...reversed, checkpoint_id: 'k' } }),
      undefined,
    )
    deepStrictEqual((await kit.entries()).length, before.length + 1)
  },
)

/** A local trail that says `high` where it said `low`, with a local chain of its own. */
function rewritten(local: readonly Entry[]): readonly Entry[] {
  let last: string | null = null
  return local.map(entry => {
    const body = entry.event_type === 'checkpoint_created' ? { ...entry.body, confidence: 'high' } : entry.body
    const prev_hash: string | null = last
    const entry_hash = hashesOf({ ...entry, body }, prev_hash, null).local!
    last = entry_hash
    return { ...entry, body, prev_hash, integrity: { ...entry.integrity!, entry_hash } }
  })
}

/**
 * Entries as `alter` makes them, each with a global hash that fits it and the one before it; the anchors stay as they
 * were.
 */
function relinked(alter: (entry: Entry) => Entry): (entry: Entry) => Entry {
  let last: string | null = null
  return given => {
    const { seq, integrity, ...view } = alter(given)
    const { algorithm, local_hash } = integrity!
    const prev_hash: string | null = last
    const anchor = local_hash === undefined ? {} : { local_hash }
    const entry_hash = digestOf(algorithm, canonicalize({ ...view, prev_hash, integrity: { algorithm, ...anchor } }))
    last = entry_hash
    return { seq, ...view, prev_hash, integrity: { ...integrity!, entry_hash } }
  }
}

scenario(
  'WM-015 a local trail that was rewritten with its chain holds by itself, and not against the global record',
  { level: 3, rules: ['W-TRAIL-14', 'W-TRAIL-16'], opened: false, sound: false },
  async kit => {
    // At rest with the global hashes as they were, and with a global chain that was made anew around the old anchors.
    for (const anew of [false, true]) {
      await kit.prepare({ level: 3, rules: [] })
      await ended(kit)
      const { entries: local } = await kit.do('runtime', 'query_trail', { scope: 'local', workspace: 'W' })
      const forged = rewritten(local)
      const changed = forged.filter(({ event_type }) => event_type === 'checkpoint_created')
      deepStrictEqual(changed.length, 3)
      kit.name(changed[0]!.id, 'changed')
      // Alone its chain is whole: each names the hash before it, and hashes to what it says.
      deepStrictEqual(rewritten(forged), forged)
      await kit.mark()
      deepStrictEqual((await kit.do('runtime', 'verify_local', { entries: local })).findings, [])
      await kit.expectAdded([])
      const held = await kit.do('runtime', 'verify_local', { entries: forged })
      deepStrictEqual([held.findings[0]?.seq, held.findings[0]?.violation], [changed[0]!.seq, 'hash_mismatch'])
      await kit.expectAmong([violation('changed', 'hash_mismatch')])

      const copies = new Map(forged.map(each => [each.seq, each]))
      const alter = (entry: Entry): Entry => {
        const { body, integrity } = copies.get(entry.seq) ?? entry
        if (body === entry.body) return entry
        const local_hash = anew ? entry.integrity!.local_hash! : integrity!.entry_hash
        return { ...entry, body, integrity: { ...entry.integrity!, local_hash } }
      }
      const change = anew ? relinked(alter) : alter
      await kit.restart({ meanwhile: () => kit.faults.stored.rewrite(kit.run, changing(change)) })
      await kit.mark()
      const [first] = (await kit.do('runtime', 'verify_trail')).findings
      deepStrictEqual([first?.seq, first?.violation], [changed[0]!.seq, 'hash_mismatch'])
      await kit.expectAmong([violation('changed', 'hash_mismatch')])
    }
  },
)
