// A profile as a node has it: files, peer list, journal of replays, rate limit, ledger, and the server in front of
// them. Only two bounds that no benchmark can stay within are raised: the memory of replays, and the clock of the rate
// limit, which runs a thousand times as fast.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { SystemClock } from '@parley/core'
import { LinkServer, LinkService, linkPaths, openLedger, ReplayJournal, type Target } from '@parley/link'
import { identityFromSeed } from '@parley/link/testing'
import type { StreamPart } from '../../packages/link/src/server/request.ts'

export const clock = new SystemClock()
export const caller = identityFromSeed(Buffer.alloc(32, 1))
export const called = identityFromSeed(Buffer.alloc(32, 2))
export const HOST = '127.0.0.1'
/** A chunk as an agent that types has it. */
const TEXT = 'the words that an agent says as it goes on, some of them at once '

const ENOUGH = 50_000_000

export interface Served {
  readonly target: Target
  close(): Promise<void>
}

export async function serveProfile(): Promise<Served> {
  const home = mkdtempSync(join(tmpdir(), 'parley-bench-'))
  const paths = linkPaths(home)
  mkdirSync(dirname(paths.replay), { recursive: true, mode: 0o700 })
  const service = new LinkService({
    home,
    profile: 'bench',
    clock,
    runs: () => undefined,
    owner: { id: 'bench', kind: 'user', scopes: [] },
    ledger: openLedger(paths.ledger, { clock, cap: () => undefined }),
    elapsed: () => performance.now() * 1000,
  })
  service.methods.set('bench.stream', ({ params }) => ({ stream: chunks(Number(params.count)) }))
  const pinned = await service.pin({
    id: 'caller',
    pubkey: caller.id,
    allow: ['link.ping', 'bench.stream'],
    perMinute: ENOUGH,
  })
  if (!pinned.ok) throw pinned.error
  const journal = ReplayJournal.open(paths.replay, { clock, limits: { perSender: ENOUGH, pairs: ENOUGH } })
  const server = await LinkServer.start({
    identity: called,
    clock,
    journal,
    tcp: { host: HOST, port: 0 },
    pins: service.pins,
    handler: service.handler,
  })
  return {
    target: { identity: called.id, at: { host: HOST, port: server.port! } },
    async close() {
      await service.close()
      await server.close()
      journal.close()
      rmSync(home, { recursive: true, force: true })
    },
  }
}

async function* chunks(count: number): AsyncGenerator<StreamPart> {
  for (let each = 1; each < count; each++) yield { chunk: { text: TEXT } }
  yield { final: { text: TEXT } }
}
