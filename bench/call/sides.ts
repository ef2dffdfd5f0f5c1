// Which sides there are, and what each needs beside its two processes.
import type { Leftovers } from '../kernel-peers/leftovers.ts'
import { installedVersion } from '../kernel-peers/server.ts'
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

/** Named while it runs: the packages of peers are installed for this comparison alone. */
const fileOf = (file: string) => import(`./sides/${file}.ts`) as Promise<Record<string, unknown>>
const side = (file: string, name: string) => async () => (await fileOf(file))[name] as Side

type Prepare = NonNullable<Entry['prepare']>

export const ENTRIES: Readonly<Record<string, Entry>> = {
  bareUnix: {
    name: 'bare socket',
    role: 'bare',
    carrier: 'Unix socket',
    load: side('bare', 'bareUnix'),
  },
  spelledUnix: {
    name: "bare socket with the protocol's envelopes",
    role: 'limit',
    carrier: 'Unix socket',
    load: side('bare', 'spelledUnix'),
  },
  parleyUnix: {
    name: 'Parley',
    role: 'parley',
    carrier: 'Unix socket',
    load: side('parley', 'parleyUnix'),
  },
  jsonRpcUnix: {
    name: 'json-rpc-2.0',
    role: 'peer',
    carrier: 'Unix socket',
    load: side('json-rpc', 'jsonRpcUnix'),
    prepare: packaged('json-rpc-2.0'),
  },
  capNWebUnix: {
    name: "Cap'n Web",
    role: 'peer',
    carrier: 'Unix socket',
    load: side('cap-n-web', 'capNWebUnix'),
    prepare: packaged('capnweb'),
  },
  grpcUnix: {
    name: 'gRPC',
    role: 'peer',
    carrier: 'Unix socket',
    load: side('grpc', 'grpcUnix'),
    prepare: packaged('@grpc/grpc-js'),
  },
  natsTcp: {
    name: 'NATS, TCP',
    role: 'peer',
    carrier: 'Unix socket',
    load: side('nats', 'natsTcp'),
    prepare: async (...given) => ((await fileOf('nats')).startNats as Prepare)(...given),
  },
  bareWebSocket: {
    name: 'bare socket',
    role: 'bare',
    carrier: 'WebSocket',
    load: side('bare', 'bareWebSocket'),
  },
  parleyWebSocket: {
    name: 'Parley',
    role: 'parley',
    carrier: 'WebSocket',
    load: side('parley', 'parleyWebSocket'),
  },
  jsonRpcWebSocket: {
    name: 'json-rpc-2.0',
    role: 'peer',
    carrier: 'WebSocket',
    load: side('json-rpc', 'jsonRpcWebSocket'),
    prepare: packaged('json-rpc-2.0'),
  },
  capNWebWebSocket: {
    name: "Cap'n Web",
    role: 'peer',
    carrier: 'WebSocket',
    load: side('cap-n-web', 'capNWebWebSocket'),
    prepare: packaged('capnweb'),
  },
}
