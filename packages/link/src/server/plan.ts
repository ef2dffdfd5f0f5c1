// Where a profile listens (ALP-TCP-01): on the Unix socket while the service is on; over TCP if the default profile has
// a reachable address, and for other profiles only on a port of their own.
import type { NetworkInterfaceInfo } from 'node:os'
import { linkDefaults } from '../limits.ts'
import type { TcpPlan } from '../transport/listen.ts'

export interface LinkConfig {
  /** `service.alp`; true unless it is false. */
  readonly service?: boolean
  /** `network.host`. */
  readonly host?: string
  /** `alp.tcp_port`. */
  readonly tcpPort?: number
}

/** What the machine says: passed in, so that nothing here asks the machine. */
export interface Surroundings {
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly interfaces: Readonly<Record<string, readonly NetworkInterfaceInfo[] | undefined>>
  readonly inDocker: boolean
}

export interface ListenPlan {
  readonly unix: boolean
  readonly tcp?: TcpPlan
}

export function planListening(profile: string, config: LinkConfig, around: Surroundings): ListenPlan {
  if (config.service === false) return { unix: false }
  const port = portOf(around.environment.ALPI_ALP_TCP_PORT) ?? config.tcpPort
  if (profile !== 'default' && port === undefined) return { unix: true }
  const detected = detectedHost(around)
  const host = around.environment.ALPI_NETWORK_HOST || config.host || detected
  if (host === undefined) return { unix: true }
  const fallback = detected !== undefined && detected !== host && { fallback: detected }
  return { unix: true, tcp: { host, port: port ?? linkDefaults.tcpPort, ...fallback } }
}

function portOf(text: string | undefined): number | undefined {
  if (text === undefined || !/^[0-9]{1,5}$/.test(text)) return undefined
  const port = Number(text)
  return port > 0 && port <= 65_535 ? port : undefined
}

function detectedHost({ interfaces, inDocker }: Surroundings): string | undefined {
  const addresses = Object.entries(interfaces)
    .filter(([name]) => !BRIDGES.test(name))
    .flatMap(([name, infos]) => (infos ?? []).map(info => ({ name, info })))
    .filter(({ info }) => !info.internal && !LINK_LOCAL.test(info.address))
  const overlay =
    addresses.find(({ name }) => OVERLAYS.test(name)) ?? addresses.find(({ info }) => SHARED.test(info.address))
  const local =
    addresses.find(({ info }) => PRIVATE.test(info.address)) ??
    addresses.find(({ info }) => UNIQUE_LOCAL.test(info.address))
  // An address that the whole world can reach is listened on only if a person wrote it down.
  return inDocker ? '0.0.0.0' : (overlay ?? local)?.info.address
}

/** Networks between containers of this machine alone. */
const BRIDGES = /^(?:docker|br-|veth|virbr|cni|flannel)/
const OVERLAYS = /^(?:tailscale|wg|utun|tun|zt|nebula)/
/** fe80::/10 and 169.254.0.0/16: useless without naming an interface, and often beside another address. */
const LINK_LOCAL = /^fe[89ab]|^169\.254\./i
/** fc00::/7 (RFC 4193). */
const UNIQUE_LOCAL = /^f[cd][0-9a-f]{2}:/i
/** 100.64.0.0/10 (RFC 6598), which overlays give out. */
const SHARED = /^100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7])\./
/** RFC 1918. */
const PRIVATE = /^(?:10\.|172\.(?:1[6-9]|2\d|3[01])\.|192\.168\.)/
