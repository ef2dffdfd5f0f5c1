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
    .filter(({ info }) => !info.internal && !isLinkLocal(info.address))
  const overlay =
    addresses.find(({ name }) => OVERLAYS.test(name)) ?? addresses.find(({ info }) => isShared(info.address))
  const local =
    addresses.find(({ info }) => isPrivate(info.address)) ?? addresses.find(({ info }) => isUniqueLocal(info.address))
  // An address that the whole world can reach is listened on only if a person wrote it down.
  return inDocker ? '0.0.0.0' : (overlay ?? local)?.info.address
}

/** Networks between containers of this machine alone. */
const BRIDGES = /^(?:docker|br-|veth|virbr|cni|flannel)/
const OVERLAYS = /^(?:tailscale|wg|utun|tun|zt|nebula)/

/** fe80::/10 and 169.254.0.0/16: useless without naming an interface, and often beside another address. */
function isLinkLocal(address: string): boolean {
  return /^fe[89ab]/i.test(address) || address.startsWith('169.254.')
}

/** fc00::/7 (RFC 4193). */
function isUniqueLocal(address: string): boolean {
  return /^f[cd][0-9a-f]{2}:/i.test(address)
}

/** 100.64.0.0/10 (RFC 6598), which overlays give out. */
function isShared(address: string): boolean {
  const [first = 0, second = 0] = address.split('.').map(Number)
  return first === 100 && second >= 64 && second < 128
}

/** RFC 1918. */
function isPrivate(address: string): boolean {
  const [first = 0, second = 0] = address.split('.').map(Number)
  return first === 10 || (first === 172 && second >= 16 && second < 32) || (first === 192 && second === 168)
}
