// /node: what runs here, that it is this profile's node, and stopping it. /config: the values in force, each with where
// it came from.
import { MachineViewSchema } from '@parley/coordinator'
import { type Static, Type } from '@parley/core'
import { DEPLOYMENT_MODELS } from '@parley/trail/events'
import { object } from '../object.ts'
import { STARTED_BY } from '../reach/node-file.ts'
import { NONCE_PATTERN } from '../reach/proof.ts'
import type { OperationDeps } from './deps.ts'
import { ListeningSchema } from './link.ts'
import { Count, count, mutation, Nothing, orNull, query, Reason } from './spec.ts'

/** What is being done about the storage of runs that are over, and what could not be done. */
const StorageSchema = object({
  working: orNull(Type.String(), 'The run that is being worked on'),
  faults: Type.Array(
    object({
      run: orNull(Type.String(), 'Null: not of one run'),
      code: Type.String(),
      message: Type.String(),
      since: Type.String({ description: 'Timestamp, UTC' }),
      attempts: Count,
      retry: Type.String({ description: 'When it is tried again' }),
    }),
  ),
})

export const NodeStatusSchema = object({
  profile: Type.String(),
  folder: Type.String(),
  socket: Type.String(),
  pid: Type.Integer({ minimum: 1 }),
  version: Type.String({ description: 'Of Parley' }),
  runtime: Type.String({ description: 'Of Node.js' }),
  started: Type.String({ description: 'Timestamp, UTC' }),
  started_by: Type.Enum([...STARTED_BY]),
  uptime_ms: Count,
  runs: object({
    working: Count,
    waiting: Count,
    for_peers: count('Those among them that answer a peer, and end with the node'),
  }),
  clients: Count,
  deployment: Type.Enum([...DEPLOYMENT_MODELS], { description: 'The security model that it keeps' }),
  idle_timeout_ms: count('0: it does not stop by itself'),
  storage: StorageSchema,
  /** How peers reach this profile (ALP); null where that is switched off. */
  link: Type.Union([
    object({
      listening: ListeningSchema,
      peers: count('Who is pinned'),
      pending: count('Who has called without being pinned'),
      problems: count('/peers/list tells each'),
    }),
    Type.Null(),
  ]),
  /** The HTTP surface; null where it is switched off. */
  http: orNull(
    object({
      at: orNull(Type.String(), 'Its address; null where it could not be opened'),
      problem: orNull(object({ code: Type.String(), message: Type.String() }), 'Why it is not open'),
      requests: count('In progress'),
      streams: count('Among them'),
    }),
  ),
  /** What holds all work up; null while the machine is sound. */
  machine: orNull(MachineViewSchema),
  /** What was found wrong with the trail when it was opened. */
  damage: Type.Array(object({ code: Type.String(), message: Type.String(), runs: Type.Array(Type.String()) })),
})
export type NodeStatus = Static<typeof NodeStatusSchema>

const ConfigViewSchema = object({
  profile: Type.String(),
  folder: Type.String(),
  file: Type.String(),
  values: Type.Array(object({ key: Type.String(), value: Type.Unknown(), from: Type.String() })),
})

export function nodeService({ config, prove, status, requestStop }: OperationDeps) {
  return {
    '/node/prove': query({
      description:
        'Proves that this node holds the key of its profile: signs the nonce with the socket that it listens at. Clients ask this before they send anything.',
      input: object({ nonce: Type.String({ pattern: NONCE_PATTERN }) }),
      output: object({
        key: Type.String({ description: 'The public key: base64 of its 32 bytes' }),
        signature: Type.String({ description: 'Base64' }),
      }),
      refuses: ['key_unusable'],
      handle: ({ nonce }) => prove(nonce),
    }),
    '/node/status': query({
      description:
        'What runs here: version, process, runs and clients, what holds it up, and what is wrong with the trail.',
      input: Nothing,
      output: NodeStatusSchema,
      handle: () => status(),
    }),
    '/node/stop': mutation({
      description: 'Stops the node. Turns at work are ended; the next start runs them again.',
      input: object({ reason: Type.Optional(Reason) }),
      output: object({ pid: Type.Integer({ minimum: 1 }) }),
      handle: ({ reason }, { identity }) => {
        requestStop(reason ?? `asked by ${identity?.id ?? 'somebody'}`)
        return { pid: process.pid }
      },
    }),
    '/config/show': query({
      description: 'The configuration that this node started with, each value with where it came from.',
      input: Nothing,
      output: ConfigViewSchema,
      handle: () => ({
        profile: config.paths.profile,
        folder: config.paths.folder,
        file: config.paths.config,
        values: config.entries,
      }),
    }),
  }
}
