// A fresh process that opens a profile, as a node does when it starts, and says how long that took until its runs took
// commands. node open.ts PROFILE [STATES]
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { unwrap } from '@parley/core'
import { Runtime } from '@parley/kernel'
import { fileStateCache, openTrail } from '@parley/trail'

const [profile, states] = process.argv.slice(2)
const delays = monitorEventLoopDelay({ resolution: 1 })
delays.enable()
const start = performance.now()
const trail = await openTrail(profile!)
const opened = performance.now()
const faults: string[] = []
const runtime = await Runtime.open({
  trail,
  level: 1,
  secret: Buffer.alloc(32, 1),
  ...(states && { stateCache: fileStateCache(states) }),
  onStateCacheFault: cause => faults.push(String(cause)),
})
const recovered = performance.now()
for (const id of runtime.active) {
  const { coordinator } = unwrap(await runtime.open(id))
  unwrap(await coordinator.submitGraph([{ name: 'next', description: 'The first task after a restart.' }]))
}
const answered = performance.now()
const { user, system } = process.cpuUsage()
delays.disable()
const stalled = delays.max / 1e6
delays.reset()
delays.enable()
await runtime.close()
delays.disable()
console.log(
  JSON.stringify({
    trail: opened - start,
    runtime: recovered - opened,
    command: answered - recovered,
    whole: answered - start,
    cpu: (user + system) / 1000,
    stalled,
    stop: performance.now() - answered,
    stopStalled: delays.max / 1e6,
    heap: process.memoryUsage().heapUsed,
    faults,
  }),
)
await trail.close()
