// All checks of `parley doctor`, in the order in which one rests on the other.
import { homedir } from 'node:os'
import { join } from 'node:path'
import { agentDirectory, keyProblem, loadConfig, lookAtLink, lookAtRecord, NODE_VERSION } from '@parley/node'
import { chosenPaths } from '@parley/node/commands'
import type { Context } from '../command.ts'
import { teamProblems } from '../team-file.ts'
import { agents, team } from './agents.ts'
import { type Finding, type Probes, problem } from './check.ts'
import { deployment } from './deployment.ts'
import { http } from './http.ts'
import { link } from './link.ts'
import { liveTurn } from './live.ts'
import { leftovers, machine, node, trail, versions } from './node.ts'
import { configuration, disk, folder, key, ledger, permissions, socket } from './profile.ts'
import { storage } from './storage.ts'
import { clock, git, gitIdentity, limits, nodeVersion } from './system.ts'

export async function examine(context: Context, probes: Probes, live: boolean): Promise<readonly Finding[]> {
  const { env, cwd, global } = context
  const home = env.HOME || homedir()
  const findings: Finding[] = [
    versions(probes, NODE_VERSION),
    nodeVersion(probes),
    await git(probes),
    ...(await gitIdentity(probes, cwd)),
    ...limits(probes),
  ]
  const named = chosenPaths(global.profile, env, home)
  if (!named.ok) return [...findings, problem('profile', named.error.message, 'Choose another name with --profile.')]
  const paths = named.value
  const config = loadConfig({ flags: { profile: global.profile }, env, home })
  findings.push(
    clock(context.clock, probes.file(paths.folder)?.changed),
    folder(probes, paths),
    permissions(probes, paths),
    disk(probes, paths),
    socket(probes, paths),
    configuration(config),
    key(keyProblem(paths.folder), probes.file(join(paths.folder, 'alp', 'secrets', 'alp_key.pem')) !== undefined),
    ...ledger(paths.folder),
  )
  const running = await node(() => context.connect({ start: false, anyVersion: true }), NODE_VERSION)
  const scene = { probes, paths, config, running }
  findings.push(
    ...deployment(scene),
    running.finding,
    ...machine(running, context.clock.now()),
    await trail(scene, () => lookAtRecord(paths)),
    ...(await storage(scene)),
    ...(await link(scene, lookAtLink)),
    ...http(scene),
    leftovers(scene),
  )
  if (config.ok) {
    const list = await agentDirectory({ config: config.value, env }).list()
    const turn = live ? liveTurn(context, config.value) : undefined
    findings.push(...(await agents(list, probes, { env, home }, turn)))
  }
  return [...findings, team(probes, cwd, teamProblems)]
}
