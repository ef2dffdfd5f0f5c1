import { StrictClock, SystemClock, SystemIds } from '@parley/core'
import { openSegmentStore, Trail } from '@parley/trail'
import { SegmentStore } from '../packages/trail/src/store/segment-store.ts'
import { DiskFiles } from '../packages/trail/src/log/disk-files.ts'
import { ScriptedRun } from '@parley/trail/testing'
import { BareFile } from './trail/bare-file.ts'
import { rmSync } from 'node:fs'
import { loops, median } from './trail/measure.ts'
const ids = new SystemIds(), clock = new StrictClock(new SystemClock())
const nul = { opening: async () => ({ state: 'current', lostHeads: [] }), advance() {}, head: async () => undefined, replay: async () => ({ records: [], cursor: undefined }), close: async () => {}, runs: async () => [] } as never
const N = Number(process.env.N ?? 1)
const seen = { bare: [] as number[], nul: [] as number[], full: [] as number[] }
const e = Buffer.alloc(460)
for (let r = 0; r < 5; r++) {
  const b = new BareFile('/tmp/p/bare', false); seen.bare.push(await loops(N, 1000, () => b.append(e))); b.close()
  for (const k of ['nul', 'full'] as const) {
    rmSync('/tmp/p/zz', { recursive: true, force: true })
    const store = k === 'full' ? await openSegmentStore('/tmp/p/zz') : await SegmentStore.open({ files: new DiskFiles('/tmp/p/zz/trail'), blobs: new DiskFiles('/tmp/p/zz/blobs'), index: () => nul, newTrail: () => '0'.repeat(32) })
    const trail = new Trail({ store })
    const scripts = await Promise.all(Array.from({ length: N }, () => ScriptedRun.start(trail, ids, clock)))
    const props = scripts.map(s => s.entry('task_approved', s.root, 'fallback', { approval_source: 'timeout-auto-approve' } as never))
    seen[k].push(await loops(N, 1000, async i => { const x = await scripts[i]!.append(props[i]!); if (!x.ok) throw x.error }))
    await store.close()
  }
}
const m = { bare: median(seen.bare), nul: median(seen.nul), full: median(seen.full) }
console.log(N, 'bare', m.bare | 0, 'null index', m.nul | 0, (m.nul / m.bare).toFixed(2), 'full', m.full | 0, (m.full / m.bare).toFixed(2))
