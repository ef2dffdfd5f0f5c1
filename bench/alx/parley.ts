// Parley's side, as the benchmark sees it: the node of parley-node.ts on a profile in a temporary folder.
import { join } from 'node:path'
import { Leftovers } from '../kernel-peers/leftovers.ts'
import { temporaryFolder } from '../kernel-peers/server.ts'
import type { EventSource } from './events.ts'
import { firstFrame } from './http-client.ts'
import { Server } from './server.ts'
import { eventsRequest, runEventsPath } from './solve.ts'

/** Nothing of the caller's own profile, and no port that another node may have. */
const ENV = { PATH: process.env.PATH, ALPI_NETWORK_HOST: '127.0.0.1', ALPI_ALP_TCP_PORT: '0' }

/** Its folder goes with the benchmark. */
export function startParley(): Promise<Server> {
  return Server.start(join(import.meta.dirname, 'parley-node.ts'), [temporaryFolder(new Leftovers())], ENV)
}

/** A run begins with a streamed solve, whose first event tells its id. Nobody reads on; the run does (ALX-HTTP-07). */
export function parleyEvents(server: Server): EventSource {
  const solve = server.ready.requests.events!
  return {
    name: 'Parley',
    server,
    async open() {
      const started = await firstFrame({ ...solve, headers: { ...solve.headers, accept: 'text/event-stream' } })
      const { runId } = JSON.parse(started) as { readonly runId: string }
      const { authorization = '' } = solve.headers
      return eventsRequest(solve.port, runEventsPath(runId), authorization.replace('Bearer ', ''))
    },
  }
}

/** The limit: the same frames, written by `node:http` and nothing else. */
export function bareEvents(server: Server): EventSource {
  return { name: 'node:http, bare', server, open: async () => server.ready.requests.events! }
}
