// The parts of config.yaml that are about ALP and the daily budget. Other implementations of ALP read `service.alp`,
// `network.host`, `alp.tcp_port`, `budget.daily_usd` and `public_bio` from the same places (section 26 of the sheet).
import { Type } from '@parley/core'
import { linkDefaults } from '@parley/link'
import { nodeLimits } from '../limits.ts'
import { ASK_APPROVALS } from './link-settings.ts'

const closed = { additionalProperties: false } as const
const port = { minimum: 0, maximum: 65_535 } as const

export const ServiceSchema = Type.Object(
  {
    alp: Type.Optional(
      Type.Boolean({
        default: true,
        title: 'ALP',
        description: 'Whether other agents can reach this profile at all, over its Unix socket or the network.',
      }),
    ),
    // ALP-UNIX-01: a configuration as the protocol's text has it is taken.
    gateway: Type.Optional(
      Type.Boolean({
        title: 'Gateway',
        description: 'A service of alpi that Parley does not have; accepted, without effect.',
      }),
    ),
    schedule: Type.Optional(
      Type.Boolean({
        title: 'Scheduler',
        description: 'A service of alpi that Parley does not have; accepted, without effect.',
      }),
    ),
  },
  { ...closed, title: 'Services', description: 'What the node offers to others.' },
)

export const NetworkSchema = Type.Object(
  {
    host: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: nodeLimits.hostLength,
        title: 'Address',
        description:
          'The address or name that peers are told, and on which the node listens where the machine has it. Without it, and where the machine does not have it: an address of an overlay network or of the local network, if there is one.',
      }),
    ),
  },
  { ...closed, title: 'Network', description: 'Where this machine can be reached.' },
)

export const AlpSchema = Type.Object(
  {
    tcp_port: Type.Optional(
      Type.Integer({
        ...port,
        title: 'TCP port',
        description: `The port for peers on other machines. The profile \`default\` has ${linkDefaults.tcpPort} without it, others listen on no port. 0 takes one that is free.`,
      }),
    ),
    call_port: Type.Optional(
      Type.Integer({
        ...port,
        title: 'Call port',
        description:
          'A second port, on which pinned nodes call operations that their `allow` list names. Off unless it is set; 0 takes one that is free.',
      }),
    ),
    agent: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 64,
        title: 'Answering agent',
        description: 'The agent that answers peers: one of `agents`, or a preset. `default_agent` without it.',
      }),
    ),
    project: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: nodeLimits.pathLength,
        title: 'Folder for answers',
        description:
          'The folder that the answering agent may read, as an absolute path. Without it an empty folder `desk` in the profile.',
      }),
    ),
    approval: Type.Optional(
      Type.Enum([...ASK_APPROVALS], {
        default: 'auto',
        title: 'Approval of asks',
        description: 'auto: a peer that may ask is answered at once. ask: each ask waits for you at a gate.',
      }),
    ),
  },
  {
    ...closed,
    title: 'ALP',
    description: 'How peers reach this profile, and who answers them; docs/guide/alp.md.',
  },
)

export const BudgetSchema = Type.Object(
  {
    daily_usd: Type.Optional(
      Type.Number({
        minimum: 0,
        maximum: nodeLimits.dailyUsd,
        title: 'Daily budget',
        description:
          'US dollars that all turns of the profile may cost in a day (UTC): your own and those for peers. 0, or nothing: no cap. A change applies at once.',
      }),
    ),
  },
  { ...closed, title: 'Budget', description: 'What the profile may spend; docs/guide/budgets.md.' },
)

export const PublicBio = Type.String({
  maxLength: nodeLimits.bioLength,
  title: 'Public bio',
  description: 'One line about this agent that members of a workgroup see; they get the first 200 bytes of it.',
})
