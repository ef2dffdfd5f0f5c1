// Runs scenarios against a host: each on a system of its own, one after the other, and says what came of each.
import { AssertionError } from 'node:assert'
import { NotTested } from './faults.ts'
import { type Host, type Level, Unsupported } from './host.ts'
import { Kit } from './kit.ts'
import type { Scenario } from './scenario.ts'
import { trailProblems } from './sound.ts'

/** `unsupported`: the host lacks an operation. `not tested`: the host cannot inject a fault that the scenario needs. */
export const STATUSES = ['passed', 'failed', 'unsupported', 'not tested'] as const
export type Status = (typeof STATUSES)[number]

export interface ScenarioResult {
  readonly id: string
  readonly title: string
  readonly level: Level
  readonly rules: readonly string[]
  readonly status: Status
  /** Why it did not pass. */
  readonly message?: string
  readonly milliseconds: number
}

export interface RunOptions {
  /** The level that is claimed; the host's own where it is left out. */
  readonly level?: Level
  /** Nothing is played behind a scenario that failed or is unsupported. */
  readonly bail?: boolean
  /** Told of each result as it comes. */
  readonly onResult?: (result: ScenarioResult) => void
  /** Milliseconds that one scenario may take. */
  readonly timeout?: number
}

const TIMEOUT = 30_000

export async function runScenarios(
  host: Host,
  scenarios: readonly Scenario[],
  options: RunOptions = {},
): Promise<readonly ScenarioResult[]> {
  const level = options.level ?? host.level
  const results: ScenarioResult[] = []
  for (const each of scenarios) {
    if (each.level > level) continue
    const result = await runScenario(host, each, level, options.timeout)
    results.push(result)
    options.onResult?.(result)
    if (options.bail && (result.status === 'failed' || result.status === 'unsupported')) break
  }
  return results
}

export async function runScenario(
  host: Host,
  scenario: Scenario,
  level: Level = host.level,
  timeout: number = TIMEOUT,
): Promise<ScenarioResult> {
  const { id, title, rules } = scenario
  const began = performance.now()
  const outcome = await play(host, scenario, level, timeout).then(
    () => ({ status: 'passed' as const }),
    (cause: unknown) => ({ status: statusOf(cause), message: messageOf(cause) }),
  )
  const milliseconds = Math.round(performance.now() - began)
  return { id, title, level: scenario.level, rules, ...outcome, milliseconds }
}

async function play(host: Host, scenario: Scenario, level: Level, timeout: number): Promise<void> {
  const kit = new Kit(host, level, scenario)
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`did not end within ${timeout} ms`)), timeout)
  })
  try {
    await Promise.race([late, perform(kit, scenario)])
  } finally {
    clearTimeout(timer)
    await kit.close()
  }
}

async function perform(kit: Kit, scenario: Scenario): Promise<void> {
  if (scenario.opened !== false) await kit.prepare(scenario)
  await scenario.play(kit)
  if (scenario.sound === false || kit.run === '') return
  await kit.settle()
  const problems = trailProblems(await kit.entries(), kit.level)
  if (problems.length > 0)
    throw new AssertionError({
      message: `The trail is not sound:\n${problems.map(each => `  ${each}`).join('\n')}`,
    })
}

function statusOf(cause: unknown): Status {
  if (cause instanceof Unsupported) return 'unsupported'
  return cause instanceof NotTested ? 'not tested' : 'failed'
}

/** An assertion speaks for itself; anything else is a defect whose place is worth knowing. */
function messageOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause)
  const known = cause instanceof AssertionError || cause instanceof NotTested || cause instanceof Unsupported
  return known ? cause.message : (cause.stack ?? cause.message)
}
