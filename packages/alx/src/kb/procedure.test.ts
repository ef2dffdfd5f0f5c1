import { checkKbEnvelope, kbHashFromEnvelope } from '@alx/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { envelopeOf } from '../run/synthesis.ts'
import { codeOf, must } from '../testing/knowledge.ts'
import { kbLimits } from './limits.ts'
import {
  type FittedStep,
  fitProcedure,
  type Procedure,
  parseProcedure,
  procedureEnvelope,
  synthesisEnvelope,
  type TeamOutline,
} from './procedure.ts'

const intent = { verb: 'deploy', target: 'api', domain: 'engineering' }
const team: TeamOutline = {
  team: 'shop',
  agents: ['coder', 'tester'],
  tasks: [
    { id: 'plan', title: 'Plan', prompt: 'Plan {intent}', agent: 'coder', needs: [] },
    { id: 'build', title: 'Build', agent: 'coder', needs: ['plan'] },
    { id: 'check', title: 'Check', needs: ['build'] },
  ],
}
type Step = Procedure['steps'][number]
const withSteps = (...steps: Step[]): Procedure => ({ type: 'procedure', intent, team: 'shop', steps })
const step = (task: string, more: Partial<Step> = {}): Step => ({ task, title: task, ...more })
const fitted = (...steps: Step[]) => fitProcedure(withSteps(...steps), team)

test('a team’s plan is a restricted procedure that fits the team, the same block for the same plan', () => {
  const envelope = procedureEnvelope(intent, team)
  expect(envelope).toMatchObject({ type: 'procedure', domain: 'engineering', tier: 'restricted', sources: [] })
  const { kbHash } = must(checkKbEnvelope({ ...envelope }))
  expect(kbHashFromEnvelope(procedureEnvelope({ ...intent }, structuredClone(team)))).toBe(kbHash)
  expect(kbHashFromEnvelope(procedureEnvelope({ ...intent, target: 'web' }, team))).not.toBe(kbHash)
  const procedure = must(parseProcedure(envelope.payload))
  expect(must(fitProcedure(procedure, team))).toEqual([
    { task: 'plan', title: 'Plan', needs: [], prompt: 'Plan {intent}', agent: 'coder' },
    { task: 'build', title: 'Build', needs: ['plan'], agent: 'coder' },
    { task: 'check', title: 'Check', needs: ['build'] },
  ])
  const { type, domain, sources, payload, tier = null } = envelope
  const shown = { artifactId: kbHash, kbHash, type, domain, sources, payload, tier, origin: 'generated' } as const
  expect(envelopeOf(shown)).toEqual(envelope)
})

test.each<[string, unknown]>([
  ['a command', { ...step('build'), command: ['rm', '-rf', '/'] }],
  ['a check of its own', { ...step('build'), check: ['true'] }],
  ['an approval that it gives itself', { ...step('build'), approve: false }],
  ['no title', { task: 'build' }],
  ['an agent that is no name', { ...step('build'), agent: { command: 'sh' } }],
])('a procedure with %s is no procedure that can be carried out', (_what, bad) => {
  expect(
    codeOf(parseProcedure({ type: 'procedure', intent: { verb: 'a', target: 'b' }, team: 'shop', steps: [bad] })),
  ).toBe('SCHEMA_INVALID')
})

test('a procedure may be registered whatever is in it, and is carried out only as a whole', () => {
  expect(codeOf(parseProcedure({ type: 'procedure' }))).toBe('SCHEMA_INVALID')
  const open = { ...withSteps(step('plan')), intent: { verb: 'a', target: 'b' } }
  expect(codeOf(parseProcedure(open))).toBe('ok')
  expect(codeOf(parseProcedure({ ...open, command: 'sh' }))).toBe('SCHEMA_INVALID')
  expect(codeOf(parseProcedure({ ...open, steps: [] }))).toBe('SCHEMA_INVALID')
})

test.each<[string, Step[]]>([
  ['has no task deploy', [step('plan'), step('deploy')]],
  ['has no agent intern', [step('plan', { agent: 'intern' })]],
  ['the task check is a team', [step('check', { agent: 'coder' })]],
  ['the task plan twice', [step('plan'), step('plan')]],
  ['needs build, which is no step before it', [step('plan', { needs: ['build'] }), step('build')]],
  ['none of its steps', [step('deploy', { optional: true })]],
])('a procedure does not fit the team: %s', (why, steps) => {
  expect(fitted(...steps)).toMatchObject({ ok: false, error: { message: expect.stringContaining(why) } })
})

test('a procedure for another team does not fit', () => {
  expect(codeOf(fitProcedure(withSteps(step('plan')), { ...team, team: 'other' }))).toBe('SCHEMA_INVALID')
})

test('ALX-RUN-03 an optional step that the team cannot do is skipped with the reason, and nothing waits for it', () => {
  const steps = must(
    fitted(
      step('plan', { agent: 'tester', prompt: 'Think' }),
      step('lint', { optional: true }),
      step('build', { needs: ['plan', 'lint'], agent: 'intern', optional: true }),
      step('check'),
    ),
  )
  expect(steps).toEqual([
    { task: 'plan', title: 'plan', needs: [], agent: 'tester', prompt: 'Think' },
    { task: 'lint', title: 'lint', needs: [], skipped: 'the team shop has no task lint' },
    { task: 'build', title: 'build', needs: [], skipped: 'the team shop has no agent intern' },
    { task: 'check', title: 'check', needs: [] },
  ])
})

const name = fc.constantFrom('a', 'b', 'c', 'd', 'constructor', '__proto__')
const anyTeam = fc
  .uniqueArray(fc.record({ id: name, agent: fc.option(name, { nil: undefined }), needs: fc.array(name) }), {
    selector: task => task.id,
    minLength: 1,
  })
  .map(tasks => {
    const before = (at: number) => new Set(tasks.slice(0, at).map(task => task.id))
    const planned = tasks.map(({ id, agent, needs }, at) => ({
      ...{ id, title: `Task ${id}`, needs: [...new Set(needs)].filter(need => before(at).has(need)) },
      ...(agent !== undefined && { agent }),
    }))
    return { team: 'shop', agents: ['a', 'b'], tasks: planned }
  })
const optional = <T>(one: fc.Arbitrary<T>) => fc.option(one, { nil: undefined })
const anyStep = fc
  .record({
    task: name,
    agent: optional(name),
    needs: optional(fc.array(name, { maxLength: 3 })),
    optional: optional(fc.boolean()),
  })
  .map(({ task, ...given }) =>
    step(task, Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))),
  )

/** What whoever carries it out relies on. */
const sound = (steps: readonly FittedStep[], { tasks, agents }: TeamOutline) => {
  const done = new Set<string>()
  for (const { task, needs, agent, skipped } of steps) {
    if (skipped !== undefined) continue
    const planned = tasks.find(({ id }) => id === task)
    expect(planned).toBeDefined()
    expect(needs.every(need => done.has(need))).toBe(true)
    if (agent !== undefined) expect([...agents, planned!.agent]).toContain(agent)
    done.add(task)
  }
  expect(done.size).toBeGreaterThan(0)
}

test('every procedure that fits names tasks and agents of the team, each behind what it needs; a team’s own always fits', () => {
  fc.assert(
    fc.property(anyTeam, fc.array(anyStep, { minLength: 1, maxLength: 6 }), (outline, steps) => {
      const own = must(fitProcedure(must(parseProcedure(procedureEnvelope(intent, outline).payload)), outline))
      expect(own.map(({ task, skipped }) => [task, skipped])).toEqual(outline.tasks.map(({ id }) => [id, undefined]))
      expect(own.map(({ needs }) => needs)).toEqual(outline.tasks.map(({ needs }) => needs))
      sound(own, outline)
      const some = fitProcedure(withSteps(...steps), outline)
      if (some.ok) sound(some.value, outline)
    }),
  )
})

test('a result is a synthesis that cites its procedure: the same run makes the same block', () => {
  const procedure = { kbHash: `0x${'a'.repeat(64)}`, title: 'deploy api' }
  const outcome = {
    domain: 'engineering',
    question: 'deploy api',
    answer: 'Done: \ud800',
    procedure,
    told: [`0x${'0'.repeat(64)}`],
  }
  const envelope = synthesisEnvelope(outcome)
  expect(envelope).toMatchObject({
    type: 'synthesis',
    tier: 'restricted',
    sources: [`0x${'0'.repeat(64)}`, procedure.kbHash],
    payload: { question: 'deploy api', answer: 'Done: \ufffd', citations: { [procedure.kbHash]: 'deploy api' } },
  })
  expect(must(checkKbEnvelope({ ...envelope })).kbHash).toBe(
    kbHashFromEnvelope(synthesisEnvelope(structuredClone(outcome))),
  )
  const long = synthesisEnvelope({ ...outcome, answer: 'x'.repeat(kbLimits.answerLength + 1) })
  expect(String(long.payload.answer).length).toBe(kbLimits.answerLength)
})
