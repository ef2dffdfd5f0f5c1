// What is wrong with a team file: a stable code and the place. Messages are made only for findings that are shown,
// since a bad file can have very many.
import type { YamlText } from '@parley/core/yaml'
import { teamLimits } from './limits.ts'
import { quote } from './words.ts'

export const TEAM_PROBLEM_CODES = [
  'yaml_syntax',
  'too_large',
  'too_deep',
  'alias_unknown',
  'alias_limit',
  'duplicate_key',
  'unknown_key',
  'missing_key',
  'wrong_type',
  'bad_value',
  'bad_name',
  'duplicate_id',
  'unknown_agent',
  'unknown_task',
  'cycle',
  'no_agents',
  'plan_missing',
] as const

/** These do not refuse a file. */
export const TEAM_WARNING_CODES = ['unused_agent', 'reviews_itself'] as const

export type TeamProblemCode = (typeof TEAM_PROBLEM_CODES)[number] | (typeof TEAM_WARNING_CODES)[number]

export interface TeamProblem {
  readonly code: TeamProblemCode
  readonly message: string
  /** From 1. */
  readonly line: number
  /** From 1, in UTF-16 code units, as editors count. */
  readonly column: number
  /** The place in the document: `plan[2].agent`; empty for the document itself. */
  readonly path: string
}

export type Path = readonly (string | number)[]

export type Place = YamlText['place']

export interface Finding {
  readonly code: TeamProblemCode
  /** Where it starts, in code units from the start of the text. */
  readonly at: number
  readonly path: Path
  readonly message: () => string
}

export interface Settled {
  readonly problems: readonly TeamProblem[]
  /** Different findings, also those beyond the limit. */
  readonly total: number
}

/** The findings in the order of the file, each once, at most `teamLimits.problems`. */
export function settle(findings: readonly Finding[], place: Place): Settled {
  // A value that an alias repeats is wrong wherever it is used, but it stands in the file once.
  const different = new Map<string, Finding>()
  for (const finding of findings.toSorted((a, b) => a.at - b.at)) {
    const key = `${finding.at} ${finding.code} ${finding.path.at(-1) ?? ''}`
    if (!different.has(key)) different.set(key, finding)
  }
  const shown = [...different.values()].slice(0, teamLimits.problems)
  const problems = shown.map(({ code, at, path, message }): TeamProblem => {
    return { code, message: message(), ...place(at), path: pathText(path) }
  })
  return { problems, total: different.size }
}

const plainKey = /^[\w$-]{1,64}$/

export function pathText(path: Path): string {
  let text = ''
  for (const part of path) {
    if (typeof part === 'number') text += `[${part}]`
    else if (!plainKey.test(part)) text += `[${quote(part)}]`
    else text += text === '' ? part : `.${part}`
  }
  return text
}
