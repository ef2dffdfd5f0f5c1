// Team files, read as the node reads them: with every problem, its place, and the line that it is in.
import { isAbsolute, relative } from 'node:path'
import { formatProblems, readTeam, type Team, type TeamProblem } from '@parley/node'
import { Failure } from './failure.ts'
import { everyField } from './guide.ts'

/** `cwd`: what is below it is named as a person there would name it. */
export function readTeamFile(text: string, file: string, cwd?: string): Team {
  const team = readTeam(text, { file })
  if (team.ok) return team.value
  const { problems } = team.error.details as { readonly problems: readonly TeamProblem[] }
  const name = cwd === undefined ? file : nearName(file, cwd)
  throw new Failure('invalid_team', team.error.message, {
    details: { ...team.error.details, file },
    excerpt: formatProblems(problems, text, name),
    next: `Fix ${problems.length === 1 ? 'this' : 'these'}.${everyField()}`,
  })
}

function nearName(file: string, cwd: string): string {
  const near = relative(cwd, file)
  return near === '' || near.startsWith('..') || isAbsolute(near) ? file : near
}

/** What is wrong with the text of a team file, a line for each; nothing where it is valid. */
export function teamProblems(text: string, file: string): readonly string[] {
  const team = readTeam(text, { file })
  if (team.ok) return []
  const { problems } = team.error.details as { readonly problems: readonly TeamProblem[] }
  return problems.map(({ line, column, message }) => `${file}:${line}:${column} ${message}`)
}
