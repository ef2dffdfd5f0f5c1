// How conflicts get on record (W-INT-07, -11): what the runtime finds by itself, and what an integrator reports.
import { compile, ok, type Result, Type } from '@parley/core'
import { bodyLimits, CONFLICT_TYPES } from '@parley/trail/events'
import { actorOf, type Batch, initiatorOf } from '../batch.ts'
import { writeTransition } from '../lifecycle/transition.ts'
import { kernelLimits } from '../limits.ts'
import { invalidArgument, invalidState, limitReached } from '../refusal.ts'
import type { Workspace } from '../workspace/workspace.ts'
import { type Finding, writeDetected } from './conflict-record.ts'
import { filesOf, openSalvage, overlapsOf, unnamedIn } from './integration.ts'
import { salvageOf } from './salvage.ts'
import { writeSalvageConflicts } from './salvage-conflict.ts'
import { baseAwareProblem, parentOf, sourceIn } from './source.ts'

const Report = Type.Object(
  {
    type: Type.String(),
    resources: Type.Array(Type.String({ minLength: 1, maxLength: bodyLimits.resourceLength }), {
      maxItems: bodyLimits.listItems,
    }),
    description: Type.String({ minLength: 1, maxLength: bodyLimits.textLength }),
  },
  { additionalProperties: false },
)
const reports = compile(Type.Array(Report, { minItems: 1 }), { name: 'conflicts' })

export interface ReportRequest {
  readonly source: unknown
  readonly conflicts: unknown
  /** Ignore overlap with what was integrated before the source was created (AMB-55). */
  readonly baseAware?: unknown
}

/** W-INT-07: the runtime adds overlaps that the integrator did not report. Answers the ids, reported ones first. */
export function decideReportConflicts(
  batch: Batch,
  caller: Workspace,
  { source: id, conflicts: submitted, baseAware = false }: ReportRequest,
): Result<readonly string[]> {
  if (openSalvage(batch.run, id)) {
    const salvage = salvageOf(batch, caller, id)
    if (!salvage.ok) return salvage
    const findings = findingsOf(submitted, baseAware)
    return findings.ok
      ? writeSalvageConflicts(batch, caller, salvage.value, findings.value, baseAware === true)
      : findings
  }
  const source = sourceIn(batch, caller, id, 'integrating')
  if (!source.ok) return source
  if (source.value.integration?.strategy !== 'evaluated')
    return invalidState(`Conflicts are reported while an 'evaluated' integration of ${source.value.id} is open.`)
  const findings = findingsOf(submitted, baseAware)
  if (!findings.ok) return findings
  const reported = findings.value
  const files = unnamedIn(filesOf(batch.run, source.value.integration.checkpoint), reported)
  const found = overlapsOf(files, source.value, parentOf(batch, source.value), baseAware === true)
  return ok(writeConflicts(batch, caller, source.value, { reported, found }))
}

function findingsOf(submitted: unknown, baseAware: unknown): Result<readonly Finding[]> {
  const unfit = baseAwareProblem(baseAware)
  if (unfit) return unfit
  const parsed = reports.check(submitted)
  if (!parsed.ok) return invalidArgument(parsed.error.message)
  const findings: Finding[] = []
  for (const { type, resources, description } of parsed.value) {
    const known = CONFLICT_TYPES.find(each => each === type)
    if (!known)
      return invalidArgument(
        `A conflict is one of ${CONFLICT_TYPES.join(', ')}, not '${type.slice(0, 80)}'.`,
        'invalid_conflict_type',
      )
    findings.push({ type: known, resources, description })
  }
  const length = Math.max(...findings.map(({ resources }) => resources.join('').length))
  if (findings.length > kernelLimits.conflicts)
    return limitReached('conflicts of one integration', kernelLimits.conflicts)
  if (length > kernelLimits.conflictResourceLength)
    return limitReached('characters of the resources of a conflict', kernelLimits.conflictResourceLength)
  return ok(findings)
}

/** W-INT-11: one entry for each, then the one state change. `found`: by the runtime, where nobody had to judge. */
export function writeConflicts(
  batch: Batch,
  integrator: Workspace,
  source: Workspace,
  { reported = [], found }: { readonly reported?: readonly Finding[]; readonly found: readonly Finding[] },
): readonly string[] {
  const ids = [
    ...writeDetected(batch, source, reported, actorOf(integrator)),
    ...writeDetected(batch, source, found, 'protocol'),
  ]
  writeTransition(batch, source, {
    to: 'conflicted',
    trigger: 'conflict_detected',
    actor: actorOf(integrator),
    initiator: initiatorOf(integrator),
  })
  return ids
}
