// The call protocol over Noise in the suite that every transport of it passes.
import type { Transport } from '@parley/call'
import { transportCompliance } from '@parley/call/compliance'
import { SystemClock } from '@parley/core'
import { identityOf } from '../testing/vectors.ts'
import { dialCall } from './dial-call.ts'
import { listenCall } from './listen-call.ts'

const [alice, bob] = [identityOf('alice'), identityOf('bob')]
const clock = new SystemClock()

transportCompliance(
  'Noise',
  async ({ left: caller, right: called, maxBody }) => {
    const accepted = Promise.withResolvers<Transport>()
    const listening = await listenCall({
      host: '127.0.0.1',
      port: 0,
      identity: bob,
      clock,
      pins: { identities: () => new Set([alice.id]) },
      principal: () => caller,
      accept: accepted.resolve,
      ...(maxBody !== undefined && { maxBody }),
    })
    const target = { identity: bob.id, at: { host: '127.0.0.1', port: listening.port } }
    const how = { own: alice, clock, timeoutMs: 5000 }
    const dialled = await dialCall(target, { ...how, ...(called && { principal: called }) })
    if (!dialled.ok) throw dialled.error
    return { left: dialled.value, right: await accepted.promise, dispose: () => listening.close() }
  },
  { kind: 'noise', queues: true, carries: 'bytes', keeps: true },
)
