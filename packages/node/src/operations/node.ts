// /node: what runs here, that it is this profile's node, and stopping it. /config: the values in force, each with where
// it came from.
import { operation } from '@parley/call'
import { MachineViewSchema } from '@parley/coordinator'
import { type Static, Type } from '@parley/core'
import { DEPLOYMENT_MODELS } from '@parley/trail/events'
import type { Config } from '../config/load.ts'
import { STARTED_BY } from '../reach/node-file.ts'
import { NONCE_PATTERN, type Proof } from '../reach/proof.ts'
import { ListeningSchema } from './link.ts'
import { Count, closed, forOwner, Nothing, Reason, refusals } from './spec.ts'

/** What is being done about the storage of runs that are over, and what could not be done. */
const StorageSchema = Type.Object(
  {
    working: Type.Union([Type.String(), Type.Null()], { description: 'The run that is being worked on' }),
    faults: Type.Array(
      Type.Object(
        {
          run: Type.Union([Type.String(), Type.Null()], { description: 'Null: not of one run' }),
          code: Type.String(),
          message: Type.String(),
          since: Type.String({ description: 'Timestamp, UTC' }),
          attempts: Count,
          retry: Type.String({ description: 'When it is tried again' }),
        },
        closed,
      ),
    ),
  },
  closed,
)

export const NodeStatusSchema = Type.Object(
  {
    profile: Type.String(),
    folder: Type.String(),
    socket: Type.String(),
    pid: Type.Integer({ minimum: 1 }),
    version: Type.String({ description: 'Of Parley' }),
    runtime: Type.String({ description: 'Of Node.js' }),
    started: Type.String({ description: 'Timestamp, UTC' }),
    started_by: Type.Enum([...STARTED_BY]),
    uptime_ms: Count,
    runs: Type.Object(
      {
        working: Count,
        waiting: Count,
        for_peers: Type.Integer({
          minimum: 0,
          description: 'Those among them that answer a peer, and end with the node',
        }),
      },
      closed,
    ),
    clients: Count,
    deployment: Type.Enum([...DEPLOYMENT_MODELS], { description: 'The security model that it keeps' }),
    idle_timeout_ms: Type.Integer({ minimum: 0, description: '0: it does not stop by itself' }),
    storage: StorageSchema,
    /** How peers reach this profile (ALP); null where that is switched off. */
    link: Type.Union([
      Type.Object(
        {
          listening: ListeningSchema,
          peers: Type.Integer({ minimum: 0, description: 'Who is pinned' }),
          pending: Type.Integer({ minimum: 0, description: 'Who has called without being pinned' }),
          problems: Type.Integer({ minimum: 0, description: '/peers/list tells each' }),
        },
        closed,
      ),
      Type.Null(),
    ]),
    /** What holds all work up; null while the machine is sound. */
    machine: Type.Union([MachineViewSchema, Type.Null()]),
    /** What was found wrong with the trail when it was opened. */
    damage: Type.Array(
      Type.Object({ code: Type.String(), message: Type.String(), runs: Type.Array(Type.String()) }, closed),
    ),
  },
  closed,
)
export type NodeStatus = Static<typeof NodeStatusSchema>

const ConfigViewSchema = Type.Object(
  {
    profile: Type.String(),
    folder: Type.String(),
    file: Type.String(),
    values: Type.Array(Type.Object({ key: Type.String(), value: Type.Unknown(), from: Type.String() }, closed)),
  },
  closed,
)

export interface NodeDeps {
  readonly config: Config
  /** Throws a `CallError` where the key cannot be used. */
  prove(nonce: string): Proof
  status(): Promise<NodeStatus>
  /** Starts the stop and returns. */
  requestStop(reason: string): void
}

export function nodeService({ config, prove, status, requestStop }: NodeDeps) {
  return {
    '/node/prove': operation(
      {
        name: '/node/prove',
        opType: 'query',
        description:
          'Proves that this node holds the key of its profile: signs the nonce with the socket that it listens at. Clients ask this before they send anything.',
        inputSchema: Type.Object({ nonce: Type.String({ pattern: NONCE_PATTERN }) }, closed),
        outputSchema: Type.Object(
          {
            key: Type.String({ description: 'The public key: base64 of its 32 bytes' }),
            signature: Type.String({ description: 'Base64' }),
          },
          closed,
        ),
        accessControl: forOwner,
        errorSchemas: refusals('key_unusable'),
      },
      ({ nonce }) => ({ ...prove(nonce) }),
    ),
    '/node/status': operation(
      {
        name: '/node/status',
        opType: 'query',
        description:
          'What runs here: version, process, runs and clients, what holds it up, and what is wrong with the trail.',
        inputSchema: Nothing,
        outputSchema: NodeStatusSchema,
        accessControl: forOwner,
      },
      () => status(),
    ),
    '/node/stop': operation(
      {
        name: '/node/stop',
        opType: 'mutation',
        description: 'Stops the node. Turns at work are ended; the next start runs them again.',
        inputSchema: Type.Object({ reason: Type.Optional(Reason) }, closed),
        outputSchema: Type.Object({ pid: Type.Integer({ minimum: 1 }) }, closed),
        accessControl: forOwner,
      },
      ({ reason }, { identity }) => {
        requestStop(reason ?? `asked by ${identity?.id ?? 'somebody'}`)
        return { pid: process.pid }
      },
    ),
    '/config/show': operation(
      {
        name: '/config/show',
        opType: 'query',
        description: 'The configuration that this node started with, each value with where it came from.',
        inputSchema: Nothing,
        outputSchema: ConfigViewSchema,
        accessControl: forOwner,
      },
      () => ({
        profile: config.paths.profile,
        folder: config.paths.folder,
        file: config.paths.config,
        values: config.entries.map(entry => ({ ...entry })),
      }),
    ),
  }
}
