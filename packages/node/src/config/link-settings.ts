// The settings of ALP and of the daily budget (ALP-TCP-01, ALP-BUD-01, ALP-BIO-01). Other implementations of ALP read
// `service.alp`, `network.host`, `alp.tcp_port`, `budget.daily_usd` and `public_bio` from the same places (section 26
// of the sheet); Parley's own settings stand beside them under `alp`.
import { isIP } from 'node:net'
import { Type } from '@parley/core'
import { linkDefaults } from '@parley/link'
import { nodeLimits } from '../limits.ts'
import { type About, agentName, folder, oneOf, readInteger, type Setting, setting, yesOrNo } from './setting.ts'

/** Whether an ask of a peer begins at once, or waits for the owner of the node. */
const ASK_APPROVALS = ['auto', 'ask'] as const

function port(key: string, about: About, override?: string): Setting<number | undefined> {
  return setting<number | undefined>({
    key,
    ...(override !== undefined && { override }),
    schema: Type.Integer({ minimum: 0, maximum: 65_535, ...about }),
    fallback: undefined,
    expected: 'a port from 1 to 65535, or 0 for one that is free',
    read: value => readInteger(value, 0, 65_535),
  })
}

export const LINK_SETTINGS = {
  alp: yesOrNo('service.alp', true, {
    title: 'ALP',
    description: 'Whether other agents can reach this profile at all, over its Unix socket or the network.',
  }),
  networkHost: setting<string | undefined>({
    key: 'network.host',
    override: 'ALPI_NETWORK_HOST',
    schema: Type.String({
      minLength: 1,
      maxLength: nodeLimits.hostLength,
      title: 'Address',
      description:
        'The address or name that peers are told, and on which the node listens where the machine has it. Without it, and where the machine does not have it: an address of an overlay network or of the local network, if there is one.',
    }),
    fallback: undefined,
    expected: 'an address or a name of this machine, without a port',
    read: value => (typeof value === 'string' && (isIP(value) !== 0 || isHostName(value)) ? value : undefined),
  }),
  alpTcpPort: port(
    'alp.tcp_port',
    {
      title: 'TCP port',
      description: `The port for peers on other machines. The profile \`default\` has ${linkDefaults.tcpPort} without it, others listen on no port. 0 takes one that is free.`,
    },
    'ALPI_ALP_TCP_PORT',
  ),
  alpCallPort: port('alp.call_port', {
    title: 'Call port',
    description:
      'A second port, on which pinned nodes call operations that their `allow` list names. Off unless it is set; 0 takes one that is free.',
  }),
  alpAgent: agentName('alp.agent', {
    title: 'Answering agent',
    description: 'The agent that answers peers: one of `agents`, or a preset. `default_agent` without it.',
  }),
  alpProject: folder('alp.project', 'the absolute path of a folder', {
    title: 'Folder for answers',
    description:
      'The folder that the answering agent may read, as an absolute path. Without it an empty folder `desk` in the profile.',
  }),
  alpApproval: oneOf('alp.approval', ASK_APPROVALS, 'auto', {
    title: 'Approval of asks',
    description: 'auto: a peer that may ask is answered at once. ask: each ask waits for you at a gate.',
  }),
  /** Null: no cap. A slip that would lift the cap is a mistake here, though other implementations read it as no cap. */
  dailyUsd: setting<number | null>({
    key: 'budget.daily_usd',
    variable: 'PARLEY_DAILY_USD',
    flag: 'daily-usd',
    schema: Type.Number({
      minimum: 0,
      maximum: nodeLimits.dailyUsd,
      title: 'Daily budget',
      description:
        'US dollars that all turns of the profile may cost in a day (UTC): your own and those for peers. 0, or nothing: no cap. A change applies at once.',
    }),
    fallback: null,
    expected: `a number of US dollars, at most ${nodeLimits.dailyUsd}, or 0 for no cap`,
    read: value => {
      const number = typeof value === 'string' && /^\d{1,9}(?:\.\d{1,9})?$/.test(value) ? Number(value) : value
      if (typeof number !== 'number' || !(number >= 0 && number <= nodeLimits.dailyUsd)) return undefined
      return number === 0 ? null : number
    },
  }),
  publicBio: setting<string | undefined>({
    key: 'public_bio',
    schema: Type.String({
      maxLength: nodeLimits.bioLength,
      title: 'Public bio',
      description: 'One line about this agent that members of a workgroup see; they get the first 200 bytes of it.',
    }),
    fallback: undefined,
    expected: `a text of at most ${nodeLimits.bioLength} characters`,
    read: value => (typeof value === 'string' && value.length <= nodeLimits.bioLength ? value : undefined),
  }),
} as const

/** RFC 1123. */
function isHostName(text: string): boolean {
  return (
    text.length <= nodeLimits.hostLength &&
    text.split('.').every(label => /^[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?$/.test(label)) &&
    // Four numbers that are no address, and a port for example, are slips.
    !/^[\d.]+$/.test(text)
  )
}
