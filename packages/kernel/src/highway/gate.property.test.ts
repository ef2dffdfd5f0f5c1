// Whatever is asked and however gates are answered: nothing passes a gate before its answer, every gate ends once, and the records
// give the state back.
import { isDeepStrictEqual } from 'node:util'
import { type GateId, type RunId, SeededIds, type Ticks, unwrap } from '@parley/core'
import type { EntryDraft, TrailObject } from '@parley/trail'
import type { EventBody } from '@parley/trail/events'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Command } from '../command.ts'
import { type Decision, decide } from '../decide.ts'
import { evolve } from '../evolve.ts'
import { newRun, type Run, runEnded } from '../run/run.ts'
import { fixture } from '../testing/fixture.ts'
import { anyStep, commandOf, prologue, randomTaxonomy, type Step } from '../testing/random-commands.ts'
import type { HighwayConfiguration } from './config.ts'

const RUNS = process.env.PARLEY_SOAK ? 5000 : 100
const RUNTIME_RUNS = process.env.PARLEY_SOAK ? 100 : 10

/** All gates, with short times and each of the fallbacks. */
const highway: HighwayConfiguration = {
  preset: 'gated',
  gate_defaults: { timeout: 20, fallback: 'approve' },
  gate_overrides: {
    task_approval: { fallback: 'escalate_to_coordinator' },
    workspace_abort: { fallback: 'reject' },
    conflict_resolution: { fallback: 'escalate_to_coordinator' },
    envelope_delivery: { timeout: null },
  },
}

/** What happens to gates between two commands. */
const anyAnswer = fc.record({
  step: anyStep,
  answer: fc.constantFrom('approve', 'approve', 'approve', 'reject', 'modify', 'coordinator', 'due', 'none'),
  pick: fc.nat({ max: 999 }),
})

const CHANGES = {
  task_approval: { priority: 'urgent', description: 'better' },
  workspace_create: { priority: 'critical' },
  envelope_delivery: { payload: { format: 'markdown', content: 'changed' } },
  integration: { strategy: 'layered' },
  conflict_resolution: { resolution: 'changed' },
  workspace_abort: { reason: 'changed' },
}

function answerOf(run: Run, answer: string, pick: number): Command | undefined {
  if (answer === 'due') return { type: 'due' }
  const gates = [...run.gates.values()]
  const gate = gates[pick % Math.max(1, gates.length)]
  if (!gate || answer === 'none') return undefined
  if (answer === 'coordinator')
    return {
      type: 'answer_gate',
      caller: run.root!.id,
      gate: gate.id,
      action: pick % 2 ? 'approve' : 'reject',
    }
  const modifications = answer === 'modify' ? { modifications: CHANGES[gate.type] } : {}
  return { type: 'resolve_gate', user: 'ux', gate: gate.id, action: answer, ...modifications }
}

class Bare {
  readonly run: Run = newRun('run_1' as RunId)
  readonly records: (EntryDraft | TrailObject)[] = []
  readonly opened = new Set<string>()
  readonly ended = new Set<string>()
  #count = 0

  ask(command: Command): Decision {
    const now = (1_772_355_900_000_000 + this.#count * 1000) as Ticks
    const decision = decide(this.run, command, { now, ids: new SeededIds(this.#count++) })
    this.#check(decision)
    for (const record of [...decision.objects, ...decision.entries]) {
      this.records.push(record)
      evolve(this.run, record)
    }
    expect([...this.opened].filter(id => !this.ended.has(id)).sort()).toEqual(
      [...this.run.gates.keys()].sort(),
    )
    return decision
  }

  /** No effect without an answer, and each gate ends once, before the run does. */
  #check({ entries }: Decision): void {
    let passed = 0
    for (const { event_type, body } of entries) {
      if (event_type === 'gate_triggered') this.opened.add((body as EventBody<'gate_triggered'>).gate_id)
      if (event_type === 'gate_resolved') {
        const { gate_id, action } = body as EventBody<'gate_resolved'>
        expect(this.opened.has(gate_id) && !this.ended.has(gate_id)).toBe(true)
        this.ended.add(gate_id)
        if (action !== 'reject') passed++
      }
      if (event_type === 'gate_reentry_blocked') passed++
      if (event_type === 'workspace_created' && (body as EventBody<'workspace_created'>).parent !== null)
        expect(passed).toBeGreaterThan(0)
      if (event_type === 'task_approved') expect(passed).toBeGreaterThan(0)
    }
    const last = entries.at(-1)?.body as EventBody<'workspace_state_changed'> | undefined
    if (
      last?.workspace_id === this.run.root?.id &&
      (last?.to_state === 'closed' || last?.to_state === 'failed')
    )
      expect(this.ended).toEqual(this.opened)
  }

  approveAll(): void {
    for (let [gate] = this.run.gates.keys(); gate; [gate] = this.run.gates.keys())
      unwrap(this.ask(answerFor(gate)).result)
  }
}

function answerFor(gate: GateId): Command {
  return { type: 'resolve_gate', user: 'ux', gate, action: 'approve' }
}

test('nothing passes a gate unanswered, every gate ends once, and replaying the records gives the same state', () => {
  fc.assert(
    fc.property(fc.array(anyAnswer, { minLength: 1, maxLength: 60, size: 'max' }), all => {
      const bare = new Bare()
      bare.ask({ type: 'start', draft: { taxonomy: randomTaxonomy, owner: 'ux', highway } })
      for (const command of prologue(bare.run)) {
        bare.ask(command)
        bare.approveAll()
      }
      for (const { step, answer, pick } of all) {
        if (runEnded(bare.run)) break
        bare.ask(commandOf(bare.run, step))
        const command = answerOf(bare.run, answer, pick)
        if (command && !runEnded(bare.run)) bare.ask(command)
      }
      const again = newRun('run_1' as RunId)
      for (const record of JSON.parse(JSON.stringify(bare.records)) as EntryDraft[]) evolve(again, record)
      if (!isDeepStrictEqual(again, bare.run)) expect(again).toStrictEqual(bare.run)
    }),
    { numRuns: RUNS },
  )
})

interface Answered {
  readonly step: Step
  readonly answer: string
  readonly pick: number
}

/** The same on a real trail, which checks every entry, and over a restart. */
async function askRuntime(all: readonly Answered[]): Promise<void> {
  const f = await fixture({ run: { taxonomy: randomTaxonomy, owner: 'ux', highway }, active: false })
  const approveAll = async () => {
    for (;;) {
      await f.settle()
      const [gate] = await f.run.read(run => [...run.gates.keys()])
      if (gate === undefined) return
      unwrap(await f.run.submit(answerFor(gate)))
    }
  }
  const state = await f.run.read(run => run)
  for (const command of prologue(state)) {
    await f.run.submit(command)
    await approveAll()
  }
  for (const { step, answer, pick } of all) {
    const command = await f.run.read(run => commandOf(run, step))
    const asked = [f.run.submit(command)]
    await f.settle()
    const answered = await f.run.read(run => answerOf(run, answer, pick))
    if (answered) asked.push(f.run.submit(answered))
    await f.advance(3)
    // What waits for an integration to end stays without an answer.
    for (const result of await Promise.all(asked.map(each => Promise.race([each, undefined]))))
      if (result && !result.ok)
        expect(result.error.code).not.toMatch(/^(internal|invalid_entry|invalid_body)$/)
  }
  await f.settle()
  expect((await f.trail.run(f.run.id).verify()).findings).toEqual([])
  const before = await f.run.read(run => [...run.gates.keys()])
  await f.restart()
  const after = await f.run.read(run => [...run.gates.keys()])
  // Time may have run out for some meanwhile; none comes back.
  for (const id of after) expect(before).toContain(id)
  await f.runtime.close()
  await f.trail.close()
}

test('whatever is asked and answered, the trail takes what is decided, and gates wait over a restart', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyAnswer, { minLength: 1, maxLength: 40, size: 'max' }), askRuntime),
    {
      numRuns: RUNTIME_RUNS,
    },
  )
})
