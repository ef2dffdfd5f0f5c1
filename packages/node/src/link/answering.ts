// How this node answers a peer (ALP-ASK-02): one task of one agent, which may change no file, in a folder that the
// owner chose. Errors go to the owner's log; the peer learns only that there was one.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { planFor, type RunSetup, type Team } from '@parley/coordinator'
import { asParleyError, ok, type ParleyError, type Result, refuse } from '@parley/core'
import { kindFor } from '../agents/kinds.ts'
import { preflight } from '../agents/preflight.ts'
import type { Config } from '../config/load.ts'
import type { OperationDeps } from '../operations/deps.ts'

/** Refuses with `unknown_team`, in words that a peer may read. */
export async function answeringTeam(
  { config, link, agents, programs, log }: Pick<OperationDeps, 'config' | 'link' | 'agents' | 'programs' | 'log'>,
  intent: string,
): Promise<Result<RunSetup>> {
  const { alpAgent, alpApproval, alpProject } = config.values
  const cannot = (error: ParleyError) => {
    log.error(`a peer's ask cannot be answered: ${error.message}`, { code: error.code })
    return refuse('unknown_team', 'The agent that answers for this profile cannot work now. Its owner was told why.')
  }
  const found = await agents.team(alpAgent)
  if (!found.ok) return cannot(found.error)
  const team = answerTeam(found.value)
  const fit = preflight(team, intent, programs)
  if (!fit.ok) return cannot(fit.error)
  try {
    const project = alpProject ?? (seesNoFolder(team) ? undefined : emptyFolder(config))
    return ok({ team, project, approved: alpApproval === 'auto', owner: link.owner })
  } catch (cause) {
    return cannot(asParleyError(cause))
  }
}

/** One task that may change nothing, tried once: a second try would be a second turn that nobody asked for. */
function answerTeam(solo: Team): Team {
  const [task] = planFor(solo, '{intent}')
  // What was asked is content; the title stands in entries, which are not sealed.
  const answer = { ...task!, id: 'answer', title: 'Answer a peer', paths: [], attempts: 1 }
  return { ...solo, name: 'answer', limits: { ...solo.limits, attempts: 1 }, plan: [answer] }
}

/** Such a run needs neither a folder nor git. */
function seesNoFolder({ agents }: Team): boolean {
  return Object.values(agents).every(agent => kindFor(agent).folderless === true)
}

/** An empty folder of the profile: an agent that nobody gave a project to sees none. */
function emptyFolder({ paths }: Config): string {
  const folder = join(paths.folder, 'desk')
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  return folder
}
