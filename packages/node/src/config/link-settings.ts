// The settings of ALP and of the daily budget (ALP-TCP-01, ALP-BUD-01, ALP-BIO-01). The keys are those that other
// implementations of ALP read from the same file; what only Parley knows stands beside them under `alp`.
import { isIP } from 'node:net'
import type { LinkConfig } from '@parley/link'
import { nodeLimits } from '../limits.ts'
import { readFlag, readFolder } from './readings.ts'
import type { Setting, SettingValues } from './settings.ts'

/** Whether an ask of a peer begins at once, or waits for the owner of the node. */
export const ASK_APPROVALS = ['auto', 'ask'] as const
export type AskApproval = (typeof ASK_APPROVALS)[number]

const alp: Setting<boolean> = {
  key: 'service.alp',
  variable: 'PARLEY_SERVICE_ALP',
  flag: 'service-alp',
  fallback: true,
  expected: 'true or false',
  read: readFlag,
  show: value => String(value),
}

const networkHost: Setting<string | undefined> = {
  key: 'network.host',
  variable: 'PARLEY_NETWORK_HOST',
  override: 'ALPI_NETWORK_HOST',
  flag: 'network-host',
  fallback: undefined,
  expected: 'an address or a name of this machine, without a port',
  read: value => (typeof value === 'string' && (isIP(value) !== 0 || isHostName(value)) ? value : undefined),
  show: value => value ?? null,
}

const alpTcpPort: Setting<number | undefined> = {
  key: 'alp.tcp_port',
  variable: 'PARLEY_ALP_TCP_PORT',
  override: 'ALPI_ALP_TCP_PORT',
  flag: 'alp-tcp-port',
  fallback: undefined,
  expected: 'a port from 1 to 65535, or 0 for one that is free',
  read: readPort,
  show: value => value ?? null,
}

const alpCallPort: Setting<number | undefined> = {
  key: 'alp.call_port',
  variable: 'PARLEY_ALP_CALL_PORT',
  flag: 'alp-call-port',
  fallback: undefined,
  expected: 'a port from 1 to 65535, or 0 for one that is free',
  read: readPort,
  show: value => value ?? null,
}

const alpAgent: Setting<string | undefined> = {
  key: 'alp.agent',
  variable: 'PARLEY_ALP_AGENT',
  flag: 'alp-agent',
  fallback: undefined,
  expected: 'the name of an agent or a preset, at most 64 characters',
  read: value => (typeof value === 'string' && /^[\w.-]{1,64}$/.test(value) ? value : undefined),
  show: value => value ?? null,
}

const alpProject: Setting<string | undefined> = {
  key: 'alp.project',
  variable: 'PARLEY_ALP_PROJECT',
  flag: 'alp-project',
  fallback: undefined,
  expected: 'the absolute path of a folder',
  read: readFolder,
  show: value => value ?? null,
}

const alpApproval: Setting<AskApproval> = {
  key: 'alp.approval',
  variable: 'PARLEY_ALP_APPROVAL',
  flag: 'alp-approval',
  fallback: 'auto',
  expected: `one of ${ASK_APPROVALS.join(', ')}`,
  read: value => ASK_APPROVALS.find(each => each === value),
  show: value => value,
}

/** Null: no cap. A slip that would lift the cap is a mistake here, though other implementations read it as no cap. */
const dailyUsd: Setting<number | null> = {
  key: 'budget.daily_usd',
  variable: 'PARLEY_DAILY_USD',
  flag: 'daily-usd',
  fallback: null,
  expected: `a number of US dollars, at most ${nodeLimits.dailyUsd}, or 0 for no cap`,
  read: value => {
    const number = typeof value === 'string' && /^\d{1,9}(?:\.\d{1,9})?$/.test(value) ? Number(value) : value
    if (typeof number !== 'number' || !(number >= 0 && number <= nodeLimits.dailyUsd)) return undefined
    return number === 0 ? null : number
  },
  show: value => value,
}

const publicBio: Setting<string | undefined> = {
  key: 'public_bio',
  variable: 'PARLEY_PUBLIC_BIO',
  flag: 'public-bio',
  fallback: undefined,
  expected: `a text of at most ${nodeLimits.bioLength} characters`,
  read: value => (typeof value === 'string' && value.length <= nodeLimits.bioLength ? value : undefined),
  show: value => value ?? null,
}

export const LINK_SETTINGS = {
  alp,
  networkHost,
  alpTcpPort,
  alpCallPort,
  alpAgent,
  alpProject,
  alpApproval,
  dailyUsd,
  publicBio,
} as const

/** For `planListening` of link. The environment has had its say in the values already. */
export function linkConfig({
  alp: service,
  networkHost: host,
  alpTcpPort: tcpPort,
}: Pick<SettingValues, 'alp' | 'networkHost' | 'alpTcpPort'>): LinkConfig {
  return {
    service,
    ...(host !== undefined && { host }),
    ...(tcpPort !== undefined && { tcpPort }),
  }
}

/** RFC 1123. */
function isHostName(text: string): boolean {
  return (
    text.length <= nodeLimits.hostLength &&
    text.split('.').every(label => /^[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?$/.test(label)) &&
    // Four numbers that are no address, and a port for example, are slips.
    !/^[\d.]+$/.test(text)
  )
}

function readPort(value: unknown): number | undefined {
  const port = typeof value === 'string' && /^\d{1,5}$/.test(value) ? Number(value) : value
  return Number.isInteger(port) && (port as number) >= 0 && (port as number) <= 65_535 ? (port as number) : undefined
}
