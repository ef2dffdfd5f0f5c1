// Verification of a local trail (W-TRAIL-14): the chain of one workspace, alone or against the global record. A
// rewritten trail passes alone and fails against its anchors.
import type { RunId } from '@parley/core'
import type { Entry } from '../entry.ts'
import { viewTail } from '../log/view.ts'
import { localHashOf } from '../run/chain.ts'
import type { BridgedEntry, TrailStore } from '../store/store.ts'
import { DAMAGE, type Finding } from './report.ts'

/** What the global record says of the local trails of its run. */
interface LocalAnchors {
  /** The local hash of each entry by `seq`; `none` for one that is in no local trail. */
  readonly hashes: ReadonlyMap<number, string>
  /** What retention deleted, in order: a copy that was made afterwards lacks it. */
  readonly gone: readonly BridgedEntry[]
}

/** Checks the chain of a local trail, against its anchors where they are given. */
export function verifyLocal(entries: readonly Entry[], anchors?: LocalAnchors): readonly Finding[] {
  const findings: Finding[] = []
  const gone = anchors?.gone.filter(each => each.workspace === entries[0]?.workspace) ?? []
  let last: string | null = null
  let [seq, passed] = [0, 0]
  for (const entry of entries) {
    for (let bridge = gone[passed]; bridge && bridge.seq < entry.seq; bridge = gone[++passed])
      if (bridge.seq > seq) last = bridge.localHash ?? null
    const own = entry.integrity.entry_hash
    const computed = localHashOf(entry, last)
    const anchor = anchors?.hashes.get(entry.seq)
    if (entry.prev_hash !== last) {
      findings.push(localFinding(entry, 'spliced', last ?? 'null', entry.prev_hash ?? 'null'))
    } else if (own !== computed) {
      findings.push(localFinding(entry, 'edited', own, computed))
    } else if (anchors && anchor !== own) {
      findings.push(localFinding(entry, 'edited', anchor ?? 'none', own))
    }
    last = own
    seq = entry.seq
  }
  return findings
}

export async function localAnchors(store: TrailStore, run: RunId): Promise<LocalAnchors> {
  const hashes = new Map<number, string>()
  const gone: BridgedEntry[] = []
  for await (const records of store.scan(run)) {
    for (const record of records) {
      if (record.kind === 'entry') hashes.set(record.seq, viewTail(record.view)?.localHash ?? 'none')
      if (record.kind !== 'bridge') continue
      hashes.set(record.seq, record.localHash ?? 'none')
      gone.push(record)
    }
  }
  return { hashes, gone }
}

function localFinding(entry: Entry, damage: 'edited' | 'spliced', expected: string, actual: string): Finding {
  const message = `entry ${entry.seq} (${entry.id}) of the local trail of ${entry.workspace} is not the one that was linked there`
  return { seq: entry.seq, entry: entry.id, damage, violation: DAMAGE[damage], message, expected, actual }
}
