// What a team file wants and does not get here, which is no mistake of the file.
import { existsSync } from 'node:fs'
import { loginFiles } from '@parley/agents'
import { allTasks, type Team } from '@parley/coordinator'
import { kindFor } from './kinds.ts'
import { workersOf } from './preflight.ts'

export function nodeWarnings({ agents, limits, plan }: Team, turns: number): readonly string[] {
  const asked = limits.concurrency
  const few =
    asked > turns
      ? [`concurrency is ${asked}, and this node takes ${turns} turns at once: \`turns\` in config.yaml raises that.`]
      : []
  const commands = [
    ...Object.values(agents).map(({ command }) => command as unknown),
    ...[...allTasks(plan)].map(({ check }) => check),
  ]
  const homes = commands.flatMap(command => (Array.isArray(command) ? (command as unknown[]) : []))
  const tilde = homes.filter(word => typeof word === 'string' && /^~(\/|$)/.test(word))
  return [...few, ...tilde.map(word => `'${String(word)}' is taken as it is: no shell expands ~ in a command.`)]
}

/**
 * Agents of the plan whose program has no key and no login that can be seen. It may be logged in all the same, on macOS
 * in the keychain, where nothing is said.
 */
export function loginWarnings(
  team: Team,
  intent: string,
  env: Readonly<Record<string, string | undefined>>,
  isThere: (file: string) => boolean = existsSync,
  platform: NodeJS.Platform = process.platform,
): readonly string[] {
  if (platform === 'darwin') return []
  return workersOf(team, intent).flatMap(name => {
    const agent = team.agents[name]!
    const needs = kindFor(agent).needs(agent)
    if (!needs) return []
    const around = { ...env, ...(agent.env as Readonly<Record<string, string>> | undefined) }
    const { variables } = needs.credentials
    const files = loginFiles(needs.credentials, around)
    if (variables.length + files.length === 0 || variables.some(each => around[each])) return []
    if (files.some(file => isThere(file.replace(/^~/, around.HOME ?? '~')))) return []
    const { program } = kindFor(agent).describe(agent)
    return [`agent ${name}: no login of ${program} was found. ${needs.help} \`parley doctor\` checks it.`]
  })
}
