import { rmSync } from 'node:fs'
import { formatTimestamp, StrictClock, SystemClock, SystemIds } from '../packages/core/src/index.ts'
import { exampleGenesis } from '../packages/trail/src/events/index.ts'
import { DiskFiles } from '../packages/trail/src/log/disk-files.ts'
import { SegmentStore } from '../packages/trail/src/store/segment-store.ts'
import { Trail } from '../packages/trail/src/trail.ts'

rmSync('/tmp/p/t', { recursive: true, force: true })
const nul: any = {
  opening: async () => ({ state: 'current', lostHeads: [] }),
  advance() {},
  head: async () => undefined,
  replay: async () => ({ records: [], cursor: undefined }),
  close: async () => {},
  runs: async () => [],
}
const store = await SegmentStore.open({
  files: new DiskFiles('/tmp/p/t/trail'),
  blobs: new DiskFiles('/tmp/p/t/blobs'),
  index: () => nul,
  newTrail: () => '0'.repeat(32),
})
const trail = new Trail({ store })
const ids = new SystemIds(),
  clock = new StrictClock(new SystemClock())
const stamp = () => formatTimestamp(clock.take())
for (const n of (process.env.NS ?? '1,64,1000,4096').split(',').map(Number)) {
  const runs = []
  for (let i = 0; i < Math.min(n, 100); i++) {
    const run = trail.run(ids.next('run') as any)
    const ws = ids.next('ws')
    const r = await run.append({
      entries: [
        {
          id: ids.next('e'),
          timestamp: stamp(),
          workspace: ws,
          actor: 'protocol',
          event_type: 'workspace_created',
          body: exampleGenesis({ workspace_id: ws } as any),
        } as any,
      ],
    })
    if (!r.ok) throw r.error
    runs.push({ run, ws })
  }
  let count = 0
  const total = n === 1 ? 10000 : 200000
  const t0 = performance.now()
  const c0 = process.cpuUsage()
  await Promise.all(
    Array.from({ length: n }, async (_, i) => {
      const { run, ws } = runs[i % runs.length]!
      while (count < total) {
        count++
        const ts = stamp()
        const r = await run.append({
          entries: [
            {
              id: ids.next('e'),
              timestamp: ts,
              workspace: ws,
              actor: 'protocol',
              event_type: 'envelope_delivered',
              body: { envelope_id: ids.next('env'), from: ws, to: ws, delivered_at: ts },
            } as any,
          ],
        })
        if (!r.ok) throw r.error
      }
    }),
  )
  const s = (performance.now() - t0) / 1000
  const c = process.cpuUsage(c0)
  console.log(
    n,
    Math.round(count / s),
    '/s',
    ((s / count) * 1e6).toFixed(2),
    'us each, cpu',
    ((c.user + c.system) / count).toFixed(2),
  )
}
await trail.close()
