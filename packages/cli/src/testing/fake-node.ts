// A node for tests of commands: every operation that a test does not bring is a defect of the test.
import type { NodeApi } from '../node-api.ts'
import type { RunView } from '../views.ts'

const OPERATIONS = [
  'status',
  'stop',
  'solve',
  'runs',
  'show',
  'follow',
  'abort',
  'migrate',
  'left',
  'salvage',
  'tasks',
  'gates',
  'watchGates',
  'respond',
  'reply',
  'setPassphrase',
  'inject',
  'suspend',
  'resume',
  'budgets',
  'spentToday',
  'raiseBudget',
  'users',
  'changeUser',
  'queryTrail',
  'watchTrail',
  'verifyTrail',
  'proveEntry',
  'exportTrail',
  'packTrail',
  'importTrail',
  'trailHeads',
  'trailKeys',
  'rotateKey',
  'trailTiers',
  'compactTrail',
  'snapshotTrail',
  'restoreTrail',
  'agents',
  'linkIdentity',
  'rotateIdentity',
  'peers',
  'pinPeer',
  'unpinPeer',
  'allowPeer',
  'pendingPeers',
  'acceptPeer',
  'dismissPeer',
  'ping',
  'ask',
  'cancelAsk',
  'callPeer',
  'workspaceStatus',
  'workspaceInbox',
  'checkpoint',
  'block',
] as const satisfies readonly (keyof NodeApi)[]

export interface FakeNode extends NodeApi {
  readonly closed: () => boolean
}

export function fakeNode(brought: Partial<NodeApi> = {}): FakeNode {
  let closed = false
  const missing = Object.fromEntries(
    OPERATIONS.map(name => [
      name,
      () => {
        throw new Error(`the test did not bring ${name}`)
      },
    ]),
  ) as unknown as NodeApi
  return {
    ...missing,
    held: async () => undefined,
    ...brought,
    close: () => {
      closed = true
    },
    closed: () => closed,
  }
}

/** Follows through the given views, the last of which may never come to an end. */
export function following(...rounds: readonly (readonly RunView[])[]): NodeApi['follow'] {
  const left = [...rounds]
  return async function* (_run, signal) {
    const views = left.length > 1 ? left.shift()! : left[0]!
    for (const view of views) {
      if (signal?.aborted) return
      yield view
    }
    if (['waiting', 'working'].includes(views.at(-1)?.state ?? 'working')) {
      await new Promise<void>(resolve => {
        if (signal?.aborted) resolve()
        signal?.addEventListener('abort', () => resolve(), { once: true })
      })
    }
  }
}
