// Checks of the agents and the project's team file: programs, and credentials (never their values).
import { join } from 'node:path'
import { everyField } from '../guide.ts'
import type { AgentView } from '../node/views.ts'
import { oneLine } from '../render/text.ts'
import { andMore } from '../render/trail.ts'
import type { teamProblems } from '../team-file.ts'
import { type Finding, ok, type Probes, problem, warning } from './check.ts'

export interface Surroundings {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly home: string
}

/** `turn` adds what came of a real one. */
export async function agents(
  list: readonly AgentView[],
  probes: Probes,
  around: Surroundings,
  turn = async (_agent: AgentView, known: Finding): Promise<Finding> => known,
): Promise<readonly Finding[]> {
  const found = list.filter(agent => agent.found)
  const missing = list.filter(agent => agent.source === 'configured' && !agent.found)
  const none = warning(
    'agents',
    'no known agent is on PATH',
    'Install one (`parley agents` lists them), or use a team file whose agents are commands: parley init',
  )
  return [
    ...(found.length === 0 ? [none] : await Promise.all(found.map(agent => turn(agent, ready(agent, probes, around))))),
    ...missing.map(agent =>
      problem(
        `agent ${oneLine(agent.name)}`,
        `is configured, but ${oneLine(agent.program)} was not found`,
        agent.remedy ?? 'Fix the agent in config.yaml.',
      ),
    ),
  ]
}

function ready(agent: AgentView, probes: Probes, { env, home }: Surroundings): Finding {
  const name = `agent ${oneLine(agent.name)}`
  const version = agent.version ? ` ${oneLine(agent.version)}` : ''
  const program = `${oneLine(agent.program)}${version}`
  const { needs } = agent
  if (!needs || needs.variables.length + needs.files.length === 0) return ok(name, program)
  const variable = needs.variables.find(each => env[each])
  if (variable) return ok(name, `${program}, with ${variable}`)
  const file = needs.files.find(each => probes.file(each.replace(/^~/, home)))
  if (file) return ok(name, `${program}, logged in (${file})`)
  return warning(name, `${program}, but no credentials were found`, needs.help)
}

export function team(probes: Probes, project: string, problemsOf: typeof teamProblems): Finding {
  const file = join(project, 'parley.yaml')
  if (!probes.file(file)) return ok('team file', 'none here; `parley init` writes one')
  const text = probes.text(file)
  if (text === undefined) return problem('team file', `${file} cannot be read`, 'Check its permissions.')
  const problems = problemsOf(text, file)
  const [first] = problems
  if (first === undefined) return ok('team file', file)
  return problem('team file', `${oneLine(first)}${andMore(problems.length, 'problem')}`, `Fix it there.${everyField()}`)
}
