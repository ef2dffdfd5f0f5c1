// What holds where a setting was not given a value, in words: `parley config` shows it beside the settings.
import { join } from 'node:path'
import { readyHere } from '../agents/kinds.ts'
import { lookAtLink } from '../link/look.ts'
import { planHere } from '../link/plan.ts'
import type { Environment } from '../profile/paths.ts'
import type { Config } from './load.ts'

/** By the keys of settings; one that is missing has no other value than the shown one. */
export function effectiveValues(config: Config, env: Environment): Readonly<Record<string, string>> {
  const { values, paths } = config
  const { plan } = lookAtLink(config)
  const later = !plan.tcp && planHere(config, { pinned: true }).tcp
  const closed = values.alp ? (later ? 'none until a peer is pinned' : 'none') : 'none: service.alp is false'
  const here = readyHere({ path: env.PATH ?? '', base: paths.folder, pinned: () => false, functions: {} })
  const agent = values.defaultAgent ?? (here.length === 1 ? here[0] : undefined)
  return {
    'network.host': plan.tcp?.host ?? closed,
    'alp.tcp_port': plan.tcp ? String(plan.tcp.port) : closed,
    'alp.call_port': 'off',
    'alp.agent': agent ?? 'none',
    'alp.project': join(paths.folder, 'desk'),
    'http.names': 'its own address',
    'http.origins': 'none',
    'http.tls_cert': 'none',
    'http.tls_key': 'none',
    'http.tls_client_ca': 'clients need no certificate',
    default_agent:
      agent ??
      (here.length === 0 ? 'none: no preset is installed' : `none: several are installed (${here.join(', ')})`),
    'budget.daily_usd': 'no cap',
    'trail.replica': 'none',
    trusted_keys: 'the own keys of the profile',
  }
}
