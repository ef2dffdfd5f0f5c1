import { StrictClock, SystemClock, SystemIds } from '@parley/core'
import { Trail } from '@parley/trail'
import { SegmentStore } from '../packages/trail/src/store/segment-store.ts'
import { DiskFiles } from '../packages/trail/src/log/disk-files.ts'
import { ScriptedRun } from '@parley/trail/testing'
import { rmSync } from 'node:fs'
import { loops } from './trail/measure.ts'
const ids = new SystemIds(), clock = new StrictClock(new SystemClock())
const nul = { opening: async () => ({ state: 'current', lostHeads: [] }), advance() {}, head: async () => undefined, replay: async () => ({ records: [], cursor: undefined }), close: async () => {}, runs: async () => [] } as never
for (const n of (process.env.NS ?? '1,64,1000,4096').split(',').map(Number)) {
  rmSync('/tmp/p/zz', { recursive: true, force: true })
  const store = await SegmentStore.open({ files: new DiskFiles('/tmp/p/zz/trail'), blobs: new DiskFiles('/tmp/p/zz/blobs'), index: () => nul, newTrail: () => '0'.repeat(32) })
  const trail = new Trail({ store })
  const scripts = await Promise.all(Array.from({ length: n }, () => ScriptedRun.start(trail, ids, clock)))
  const props = scripts.map(s => s.entry('task_approved', s.root, 'fallback', { approval_source: 'timeout-auto-approve' } as never))
  const c0 = process.cpuUsage(); let k = 0
  const r = await loops(n, Number(process.env.MS ?? 3000), async i => { k++; const x = await scripts[i]!.append(props[i]!); if (!x.ok) throw x.error })
  const c = process.cpuUsage(c0)
  console.log(n, Math.round(r), '/s', (1e6 / r).toFixed(2), 'us; cpu', ((c.user + c.system) / k).toFixed(2))
  await store.close()
}
