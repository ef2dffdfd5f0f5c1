import { StrictClock, SystemClock, SystemIds } from '@parley/core'
import { openSegmentStore, Trail } from '@parley/trail'
import { ScriptedRun } from '@parley/trail/testing'
import { rmSync } from 'node:fs'
import { loops } from './trail/measure.ts'
const ids = new SystemIds(), clock = new StrictClock(new SystemClock())
for (const n of (process.env.NS ?? '1,64,1000,4096').split(',').map(Number)) {
  rmSync('/tmp/p/zz', { recursive: true, force: true })
  const store = await openSegmentStore('/tmp/p/zz')
  const trail = new Trail({ store })
  const scripts = await Promise.all(Array.from({ length: n }, () => ScriptedRun.start(trail, ids, clock)))
  const props = scripts.map(s => s.entry('task_approved', s.root, 'fallback', { approval_source: 'timeout-auto-approve' } as never))
  const c0 = process.cpuUsage(); let k = 0
  const r = await loops(n, Number(process.env.MS ?? 3000), async i => { k++; const x = await scripts[i]!.append(props[i]!); if (!x.ok) throw x.error })
  const c = process.cpuUsage(c0)
  console.log(n, Math.round(r), '/s', (1e6 / r).toFixed(2), 'us; cpu', ((c.user + c.system) / k).toFixed(2))
  let t9 = performance.now(); await store.head(scripts[0].run.id); console.log('  index catch-up', (performance.now() - t9).toFixed(0)); t9 = performance.now(); await store.close(); console.log('  close', (performance.now() - t9).toFixed(0))
}
