// Team files, read as the node reads them: with every problem and its place.
import { formatProblems, readTeam, type Team, type TeamProblem } from '@parley/node'
import { Failure } from './failure.ts'

export function readTeamFile(text: string, file: string): Team {
  const team = readTeam(text, { file })
  if (team.ok) return team.value
  const { problems } = team.error.details as { readonly problems: readonly TeamProblem[] }
  throw new Failure('invalid_team', formatProblems(problems, text, file), { details: { file, problems } })
}

/** What is wrong with the text of a team file, a line for each; nothing where it is valid. */
export function teamProblems(text: string, file: string): readonly string[] {
  const team = readTeam(text, { file })
  if (team.ok) return []
  const { problems } = team.error.details as { readonly problems: readonly TeamProblem[] }
  return problems.map(({ line, column, message }) => `${file}:${line}:${column} ${message}`)
}
