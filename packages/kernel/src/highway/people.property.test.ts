// Whatever people and agents ask of a run together: deciding changes nothing, the records give the state back, every escalation ends
// at most once, and nobody does what they may not.
import { isDeepStrictEqual } from 'node:util'
import { type RunId, SeededIds, type Ticks } from '@parley/core'
import type { EntryDraft, TrailObject } from '@parley/trail'
import type { Capability, EscalationFallback, EventBody } from '@parley/trail/events'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { UserDirectory } from '../batch.ts'
import type { Command } from '../command.ts'
import { type Decision, decide } from '../decide.ts'
import { evolve } from '../evolve.ts'
import { newRun, type Run } from '../run/run.ts'
import { anyStep, commandOf, prologue, randomTaxonomy } from '../testing/random-commands.ts'
import { ended } from '../workspace/workspace.ts'

const RUNS = process.env.PARLEY_SOAK ? 5000 : 30

/** One who may do everything, one who may do everything to what is their own, one who is away, one who has left. */
const PEOPLE: Record<string, readonly Capability[]> = {
  any: ['abort_any', 'suspend_any', 'inject_directive_any', 'transfer_ownership', 'modify_budget_any'],
  own: ['abort_own', 'suspend_own', 'inject_directive', 'modify_budget'],
  away: ['abort_any', 'suspend_any', 'inject_directive_any'],
  gone: ['abort_any'],
}
const NAMES = Object.keys(PEOPLE)
const users: UserDirectory = {
  stateOf(user) {
    if (!(user in PEOPLE)) return undefined
    return user === 'away' ? 'suspended' : user === 'gone' ? 'deactivated' : 'active'
  },
  holds: (user, capability) => PEOPLE[user]?.includes(capability) ?? false,
}

const ACTS = [
  'inject',
  'answer',
  'answer',
  'abort',
  'suspend',
  'resume',
  'transfer',
  'raise',
  'escalate',
  'due',
] as const
const anyAct = fc.record({
  act: fc.constantFrom(...ACTS),
  user: fc.constantFrom(...NAMES, 'any', 'own', 'stranger'),
  pick: fc.nat({ max: 999 }),
})
type Act = typeof anyAct extends fc.Arbitrary<infer T> ? T : never

function actOf(run: Run, { act, user, pick }: Act): Command {
  const workspaces = [...run.workspaces.values()]
  const workspace = workspaces[pick % workspaces.length]!
  switch (act) {
    case 'inject': {
      const type = pick % 7 === 0 ? 'unknown' : 'feedback'
      const payload = { format: 'markdown', content: 'text' }
      return { type: 'inject', user, draft: { to: workspace.id, type, payload } }
    }
    case 'answer': {
      const signal = [...run.escalations.keys()][pick % Math.max(1, run.escalations.size)] ?? 'unknown'
      const payload = { format: 'markdown', content: 'text' }
      const answer = [{ type: 'envelope', payload }, { type: 'delegation' }, { type: 'abort' }][pick % 3]
      return { type: 'resolve_escalation', user, signal, answer }
    }
    case 'abort':
      return { type: 'user_abort', user, workspace: workspace.id }
    case 'suspend':
      return { type: 'user_suspend', user, workspace: workspace.id, reason: 'why' }
    case 'resume':
      return { type: 'user_resume', user, workspace: workspace.id }
    case 'transfer':
      return {
        type: 'user_transfer_ownership',
        user,
        workspace: workspace.id,
        owner: NAMES[pick % NAMES.length],
      }
    case 'raise':
      return { type: 'user_raise_budget', user, workspace: workspace.id, limits: { cost_limit: pick } }
    case 'escalate':
      return { type: 'emit', caller: workspace.id, draft: { type: 'escalation', reason: 'help' } }
    case 'due':
      return { type: 'due' }
  }
}

class Bare {
  readonly run: Run = newRun('run_1' as RunId)
  readonly records: (EntryDraft | TrailObject)[] = []
  readonly #open = new Set<string>()
  #count = 0

  ask(command: Command): void {
    const now = (1_772_355_900_000_000 + this.#count * 10_000) as Ticks
    const context = { now, users, escalationQueue: 2 }
    const before = structuredClone(this.run)
    const decision = decide(this.run, command, { ...context, ids: new SeededIds(this.#count) })
    // Compared by value: equal numbers can have different bytes, as V8 keeps them.
    expect(isDeepStrictEqual(before, this.run), `changed by ${JSON.stringify(command)}`).toBe(true)
    expect(decide(this.run, command, { ...context, ids: new SeededIds(this.#count++) })).toEqual(decision)
    this.#check(decision, command)
    for (const record of [...decision.objects, ...decision.entries]) {
      this.records.push(record)
      evolve(this.run, record)
    }
    for (const { workspace } of this.run.escalations.values())
      expect(ended(this.run.workspaces.get(workspace)!)).toBe(false)
  }

  #check({ entries, result }: Decision, command: Command): void {
    for (const { event_type, body } of entries) {
      if (event_type === 'escalation_received')
        this.#open.add((body as EventBody<'escalation_received'>).signal_id)
      if (event_type === 'escalation_resolved')
        expect(this.#open.delete((body as EventBody<'escalation_resolved'>).signal_id)).toBe(true)
    }
    if (!('user' in command) || command.user === 'any' || command.user === 'own') return
    // Who is away, has left or was never here changes nothing, and each attempt is on record.
    expect(result.ok).toBe(false)
    for (const { event_type } of entries)
      expect(event_type).toBe(command.user === 'stranger' ? 'authentication_failed' : 'capability_denied')
  }
}

test.each(['approve', 'reject', 'delegate_to_coordinator'] as const)(
  'people and agents together, escalations falling back to %s',
  (fallback: EscalationFallback) => {
    const steps = fc.array(fc.oneof(anyStep, anyAct, anyAct), { minLength: 1, maxLength: 60, size: 'max' })
    fc.assert(
      fc.property(steps, all => {
        const bare = new Bare()
        const escalation = { timeout: 50, fallback }
        const highway = { gates: { task_approval: false }, escalation }
        bare.ask({ type: 'start', draft: { owner: 'own', taxonomy: randomTaxonomy, highway } })
        for (const command of prologue(bare.run)) bare.ask(command)
        for (const step of all) bare.ask('act' in step ? actOf(bare.run, step) : commandOf(bare.run, step))
        const replayed = newRun('run_1' as RunId)
        // As the trail gives them back.
        for (const record of JSON.parse(JSON.stringify(bare.records)) as typeof bare.records)
          evolve(replayed, record)
        if (!isDeepStrictEqual(replayed, bare.run)) expect(replayed).toStrictEqual(bare.run)
      }),
      { numRuns: RUNS },
    )
  },
)
