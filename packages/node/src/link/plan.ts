// Where a profile listens (ALP-TCP-01), by its configuration, which takes the environment into account already, and by
// what the machine says.
import { existsSync } from 'node:fs'
import { networkInterfaces } from 'node:os'
import { type ListenPlan, planListening } from '@parley/link'
import type { Config } from '../config/load.ts'

type Machine = Omit<Parameters<typeof planListening>[2], 'environment'>

/** `port`: the one to listen on in place of `alp.tcp_port`. */
export function planHere(
  { paths, values }: Pick<Config, 'paths' | 'values'>,
  port: number | undefined = values.alpTcpPort,
  machine: Machine = { interfaces: networkInterfaces(), inDocker: existsSync('/.dockerenv') },
): ListenPlan {
  const { alp: service, networkHost: host } = values
  const settings = { service, ...(host !== undefined && { host }), ...(port !== undefined && { tcpPort: port }) }
  return planListening(paths.profile, settings, { environment: {}, ...machine })
}
