// What holds of every trail, whatever happened: checked behind each scenario (W-TRAIL-01, -03, -07, -08, -12, -13,
// W-CLOCK-08).
import { chainProblems } from './chain.ts'
import type { Entry, Level } from './host.ts'
import { REGISTRY, REGISTRY_LEVEL_2 } from './registry.ts'

const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/

/** What is wrong with a run's trail; nothing where all is well. */
export function trailProblems(entries: readonly Entry[], level: Level): readonly string[] {
  const problems = [...genesisProblems(entries)]
  const ended = new Set<string>()
  const ids = new Set<string>()
  for (const [index, entry] of entries.entries()) {
    const at = `entry ${entry.seq} (${entry.event_type})`
    const wrong = (what: string) => problems.push(`${at} ${what}`)
    if (entry.seq !== (entries[index - 1]?.seq ?? entry.seq - 1) + 1) wrong('leaves a gap before it (W-TRAIL-01)')
    if (ids.has(entry.id)) wrong('has the id of another entry (W-TRAIL-01)')
    ids.add(entry.id)
    if (!TIMESTAMP.test(entry.timestamp)) wrong(`has the timestamp ${entry.timestamp} (W-CLOCK-08)`)
    const before = entries[index - 1]?.timestamp
    if (before !== undefined && entry.timestamp <= before) wrong('is not later than the one before it (W-CLOCK-03)')
    if (entry.workspace !== null && ended.has(entry.workspace))
      wrong('is filed under a workspace that had ended (W-TRAIL-08)')
    for (const what of bodyProblems(entry, level)) wrong(what)
    const { to_state } = entry.body
    if (entry.event_type === 'workspace_state_changed' && (to_state === 'closed' || to_state === 'failed'))
      ended.add(String(entry.body.workspace_id))
  }
  return level >= 2 ? [...problems, ...chainProblems(entries)] : problems
}

function genesisProblems([first]: readonly Entry[]): readonly string[] {
  if (!first) return []
  const genesis = first.event_type === 'workspace_created' && first.body.parent === null
  return genesis ? [] : [`entry ${first.seq} is the first and not the root's creation (W-TRAIL-13)`]
}

/** W-TRAIL-03. */
function bodyProblems({ event_type, body, timestamp }: Entry, level: Level): readonly string[] {
  const fields = REGISTRY[event_type]
  if (fields === undefined) return ['is of a type that the registry does not have (W-TRAIL-03)']
  const more = level >= 2 ? (REGISTRY_LEVEL_2[event_type] ?? []) : []
  const reason = event_type === 'workspace_state_changed' && body.to_state === 'failed' ? ['reason'] : []
  const missing = [...fields, ...more, ...reason].filter(field => !(field in body))
  const repeated = ['timestamp', 'delivered_at'].filter(field => field in body && body[field] !== timestamp)
  return [
    ...missing.map(field => `lacks ${field} (W-TRAIL-03)`),
    ...repeated.map(field => `has a ${field} that is not the header's (AMB-42)`),
  ]
}
