// What the machine says about where a profile may listen (ALP-TCP-01). The environment has had its say in the
// configuration already.
import { existsSync } from 'node:fs'
import { networkInterfaces } from 'node:os'
import { type LinkConfig, type ListenPlan, planListening } from '@parley/link'

export function planHere(profile: string, config: LinkConfig): ListenPlan {
  return planListening(profile, config, {
    environment: {},
    interfaces: networkInterfaces(),
    inDocker: existsSync('/.dockerenv'),
  })
}
