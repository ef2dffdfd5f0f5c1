// What a team file wants and does not get here, which is no mistake of the file.
import { allTasks, type Team } from '@parley/coordinator'

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
