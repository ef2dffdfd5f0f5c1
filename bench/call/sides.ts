// Which sides there are, and what each needs beside its two processes.
import { execFileSync, spawnSync } from 'node:child_process'
import type { Leftovers } from '../kernel-peers/leftovers.ts'
import { installedVersion, startServer } from '../kernel-peers/server.ts'
import type { Place, Side } from './side.ts'

export const CARRIERS = ['Unix socket', 'WebSocket'] as const
export type Carrier = (typeof CARRIERS)[number]

export interface Entry {
  readonly name: string
  readonly role: 'bare' | 'limit' | 'parley' | 'peer'
  /** Sides are compared with those of the same carrier. */
  readonly carrier: Carrier
  load(): Promise<Side>
  /** Says which version it is, and starts what both processes need. Throws where the side cannot be had. */
  prepare?(leftovers: Leftovers, place: Place): Promise<string>
}

const packaged = (name: string) => async () => installedVersion(name)

export const ENTRIES: Readonly<Record<string, Entry>> = {
  bareUnix: {
    name: 'bare socket',
    role: 'bare',
    carrier: 'Unix socket',
    load: async () => (await import('./sides/bare.ts')).bareUnix,
  },
  spelledUnix: {
    name: "bare socket with the protocol's envelopes",
    role: 'limit',
    carrier: 'Unix socket',
    load: async () => (await import('./sides/bare.ts')).spelledUnix,
  },
  parleyUnix: {
    name: 'Parley',
    role: 'parley',
    carrier: 'Unix socket',
    load: async () => (await import('./sides/parley.ts')).parleyUnix,
  },
  jsonRpcUnix: {
    name: 'json-rpc-2.0',
    role: 'peer',
    carrier: 'Unix socket',
    load: async () => (await import('./sides/json-rpc.ts')).jsonRpcUnix,
    prepare: packaged('json-rpc-2.0'),
  },
  capNWebUnix: {
    name: "Cap'n Web",
    role: 'peer',
    carrier: 'Unix socket',
    load: async () => (await import('./sides/cap-n-web.ts')).capNWebUnix,
    prepare: packaged('capnweb'),
  },
  grpcUnix: {
    name: 'gRPC',
    role: 'peer',
    carrier: 'Unix socket',
    load: async () => (await import('./sides/grpc.ts')).grpcUnix,
    prepare: packaged('@grpc/grpc-js'),
  },
  natsTcp: {
    name: 'NATS, TCP',
    role: 'peer',
    carrier: 'Unix socket',
    load: async () => (await import('./sides/nats.ts')).natsTcp,
    prepare: startNats,
  },
  bareWebSocket: {
    name: 'bare socket',
    role: 'bare',
    carrier: 'WebSocket',
    load: async () => (await import('./sides/bare.ts')).bareWebSocket,
  },
  parleyWebSocket: {
    name: 'Parley',
    role: 'parley',
    carrier: 'WebSocket',
    load: async () => (await import('./sides/parley.ts')).parleyWebSocket,
  },
  jsonRpcWebSocket: {
    name: 'json-rpc-2.0',
    role: 'peer',
    carrier: 'WebSocket',
    load: async () => (await import('./sides/json-rpc.ts')).jsonRpcWebSocket,
    prepare: packaged('json-rpc-2.0'),
  },
  capNWebWebSocket: {
    name: "Cap'n Web",
    role: 'peer',
    carrier: 'WebSocket',
    load: async () => (await import('./sides/cap-n-web.ts')).capNWebWebSocket,
    prepare: packaged('capnweb'),
  },
}

async function startNats(leftovers: Leftovers, { folder, port }: Place): Promise<string> {
  if (spawnSync('nats-server', ['--version']).error) {
    throw new Error("there is no nats-server here; on Debian, 'apt-get install nats-server' brings it")
  }
  const version = execFileSync('nats-server', ['--version'], { encoding: 'utf8' })
  const { connect } = await import('@nats-io/transport-node')
  const healthy = async () => {
    try {
      await (await connect({ servers: `127.0.0.1:${port}`, reconnect: false })).close()
      return true
    } catch {
      return false
    }
  }
  await startServer(
    leftovers,
    'nats-server',
    ['-a', '127.0.0.1', '-p', String(port)],
    { cwd: folder },
    server => server.kill('SIGKILL'),
    healthy,
  )
  return `${installedVersion('@nats-io/transport-node')}, server ${/\d+(\.\d+)*/.exec(version)?.[0]}`
}
