// What results come to: the claim of a level, with its deviations and what was not tested.
import { type Host, LEVEL_NAMES, LEVELS, type Level } from './host.ts'
import type { ScenarioResult, Status } from './runner.ts'

export const PROTOCOL = 'WACP v0.1'

/** The rows of the three sheets. */
export const SHEET_ROWS: readonly string[] = [
  ...rows('WP', 1, 99),
  ...rows('WM', 1, 103),
  ...rows('WX', 1, 23),
  ...rows('WX', 31, 40),
  ...rows('WX', 43, 46),
  ...rows('WX', 53, 69),
]

function rows(sheet: string, first: number, last: number): readonly string[] {
  const numbers = Array.from({ length: last - first + 1 }, (_, index) => first + index)
  return numbers.map(number => `${sheet}-${String(number).padStart(3, '0')}`)
}

export interface Claim {
  readonly host: string
  readonly version: string
  readonly level: Level
  /** Whether everything that was run at this level passed or could not be tested. */
  readonly met: boolean
  /** Rows of which a scenario failed or is unsupported. */
  readonly deviations: readonly { readonly id: string; readonly status: Status }[]
  readonly notTested: readonly string[]
  /** The highest level below the claimed one without deviations; 0 where there is none. */
  readonly metLevel: Level | 0
  /** The sentence. */
  readonly text: string
}

/** `partial`: only some scenarios were run, so that nothing is claimed beyond them. */
export function claimOf(
  host: Pick<Host, 'name' | 'version'>,
  level: Level,
  results: readonly ScenarioResult[],
  partial = false,
): Claim {
  const deviations = byRow(results, ['failed', 'unsupported'])
  const notTested = byRow(results, ['not tested']).map(({ id }) => id)
  const untestedOnly = notTested.filter(id => !deviations.some(each => each.id === id))
  const metLevel = LEVELS.findLast(
    each => each <= level && !results.some(result => result.level <= each && isDeviation(result)),
  )
  const claim = {
    host: host.name,
    version: host.version,
    level,
    met: deviations.length === 0,
    deviations,
    notTested: untestedOnly,
    metLevel: metLevel ?? 0,
  } as const
  return { ...claim, text: textOf(claim, results, partial) }
}

function isDeviation({ status }: ScenarioResult): boolean {
  return status === 'failed' || status === 'unsupported'
}

/** Rows of which a scenario has one of these results, each once. */
function byRow(results: readonly ScenarioResult[], statuses: readonly Status[]): { id: string; status: Status }[] {
  const rows = new Map<string, Status>()
  for (const { id, status } of results) if (statuses.includes(status) && !rows.has(id)) rows.set(id, status)
  return [...rows].map(([id, status]) => ({ id, status }))
}

function textOf(claim: Omit<Claim, 'text'>, results: readonly ScenarioResult[], partial: boolean): string {
  const { level, deviations, notTested, metLevel } = claim
  const rows = new Set(results.map(({ id }) => id)).size
  const found =
    deviations.length === 0
      ? 'no deviations'
      : `${count(deviations.length, 'deviation')}: ${deviations.map(({ id, status }) => (status === 'failed' ? id : `${id} (${status})`)).join(', ')}`
  const named = `${PROTOCOL}, Level ${level} (${LEVEL_NAMES[level]}), ${found}`
  const lines = [partial ? `A part of ${named}` : named]
  if (notTested.length > 0)
    lines.push(`Not tested, for want of a fault that the host can inject: ${notTested.join(', ')}`)
  if (deviations.length > 0 && metLevel > 0)
    lines.push(`Level ${metLevel} (${LEVEL_NAMES[metLevel as Level]}) is met without deviations`)
  if (partial) lines.push(`Rows that were run: ${rows} of ${SHEET_ROWS.length}; this is no claim of a level`)
  return lines.join('\n')
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`
}
