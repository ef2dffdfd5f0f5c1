// Where a profile listens (ALP-TCP-01), by its configuration, which takes the environment into account already, and by
// what the machine says.
import { existsSync } from 'node:fs'
import { networkInterfaces } from 'node:os'
import { type ListenPlan, planListening } from '@parley/link'
import type { Config } from '../config/load.ts'

type Machine = Omit<Parameters<typeof planListening>[2], 'environment'>

interface Around {
  /** Whether anybody is pinned: until then nobody can reach the profile anyway. */
  readonly pinned: boolean
  /** The one to listen on in place of `alp.tcp_port`. */
  readonly port?: number | undefined
  readonly machine?: Machine
}

/** No TCP port is opened for nobody: only for peers, or where the configuration names an address or a port. */
export function planHere(
  { paths, values }: Pick<Config, 'paths' | 'values'>,
  {
    pinned,
    port = values.alpTcpPort,
    machine = { interfaces: networkInterfaces(), inDocker: existsSync('/.dockerenv') },
  }: Around,
): ListenPlan {
  const { alp: service, networkHost: host } = values
  const settings = { service, ...(host !== undefined && { host }), ...(port !== undefined && { tcpPort: port }) }
  const plan = planListening(paths.profile, settings, { environment: {}, ...machine })
  return pinned || host !== undefined || port !== undefined ? plan : { unix: plan.unix }
}
