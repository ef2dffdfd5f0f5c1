// The highway of a run (W-HWY-14, -15): what its team file, or else the configuration, says about gates.
import { unwrap } from '@parley/core'
import { expandHighway, type HighwayDraft } from '@parley/kernel'
import type { TeamSetup } from '../contract.ts'
import { given } from '../given.ts'
import type { Gates } from '../team/highway-fields.ts'
import { allTasks, type PlannedTask } from '../team/team.ts'

/** Without a word about gates a person approves the tasks, takes as long as they like, and is asked nothing else. */
const PATIENT = { timeout: null }

type Highway = Exclude<HighwayDraft, string>

interface RunHighway {
  readonly highway: Highway
  /** Whether anybody is asked about the tasks that have no `approve`. */
  readonly approval: 'ask' | 'given'
}

/** `approves`: the principal may approve tasks. If not, the caller's approval opens no gate. */
export function highwayFor(
  setup: Pick<TeamSetup, 'team' | 'gates' | 'approved' | 'attended' | 'approvalMs'>,
  plan: readonly PlannedTask[],
  configured: Gates | undefined,
  approves: boolean,
): RunHighway {
  const { team, gates: asked, approved, attended, approvalMs } = setup
  const approval = asked?.gates.task_approval ? 'ask' : team.approval
  const said = highwayOf(asked ?? team.gates ?? configured, approval === 'none')
  const highway = attended && !approved ? untilAnswered(said) : said
  if (![...allTasks(plan)].some(({ approve }) => approve))
    return { highway: approved && !approves ? gated(highway, false) : highway, approval: approved ? 'given' : 'ask' }
  const isOn = unwrap(expandHighway(highway)).gates.task_approval.on
  const asking = gated(highway, true)
  return {
    highway: approvalMs === undefined ? untilAnswered(asking) : rejectingAfter(asking, approvalMs),
    approval: approved || !isOn ? 'given' : 'ask',
  }
}

/** The kernel has one gate for all tasks: it is opened for every task, and answered at once for those without. */
function gated(highway: Highway, task_approval: boolean): Highway {
  return { ...highway, gates: { ...highway.gates, task_approval } }
}

function rejectingAfter(highway: Highway, timeout: number): Highway {
  const task_approval = { timeout, fallback: 'reject' } as const
  return { ...highway, gate_overrides: { ...highway.gate_overrides, task_approval } }
}

/** A plan that somebody is being asked about never starts because nobody answered. */
function untilAnswered(highway: Highway): Highway {
  const { fallback } = unwrap(expandHighway(highway)).gates.task_approval
  if (fallback === 'reject') return highway
  const task_approval = { ...highway.gate_overrides?.task_approval, timeout: null }
  return { ...highway, gate_overrides: { ...highway.gate_overrides, task_approval } }
}

/** `approved`: tasks need nobody's word. */
function highwayOf(said: Gates | undefined, approved: boolean): Highway {
  if (!said) return { gates: { task_approval: !approved }, gate_defaults: PATIENT, escalation: PATIENT }
  const { preset, gates, escalation, injection } = said
  const choices = Object.entries(gates)
  const named = choices.map(([type, { on = true }]) => [type, on] as const)
  return {
    ...given({ preset, injection }),
    gates: { ...(approved && { task_approval: false }), ...Object.fromEntries(named) },
    // Where no preset gives them a time, gates wait.
    ...(!preset && { gate_defaults: PATIENT }),
    gate_overrides: Object.fromEntries(
      choices.map(([type, { timeoutMs, fallback }]) => [type, given({ timeout: timeoutMs, fallback })]),
    ),
    escalation: {
      ...(!preset && PATIENT),
      ...given({ enabled: escalation?.on, timeout: escalation?.timeoutMs, fallback: escalation?.fallback }),
    },
  }
}
