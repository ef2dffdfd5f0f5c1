// Team files, read as the node reads them: with every problem, its place and its line.
import { isAbsolute, relative } from 'node:path'
import { formatProblems, readTeam, type Team } from '@parley/node'
import { Failure } from './failure.ts'
import { everyField } from './guide.ts'

type TeamProblems = Parameters<typeof formatProblems>[0]

/** `cwd`: name files below it relative to it. */
export function readTeamFile(text: string, file: string, cwd?: string): Team {
  const team = readTeam(text, { file })
  if (team.ok) return team.value
  const { problems } = team.error.details as { readonly problems: TeamProblems }
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

export function teamProblems(text: string, file: string): readonly string[] {
  const team = readTeam(text, { file })
  if (team.ok) return []
  const { problems } = team.error.details as { readonly problems: TeamProblems }
  return problems.map(({ line, column, message }) => `${file}:${line}:${column} ${message}`)
}
