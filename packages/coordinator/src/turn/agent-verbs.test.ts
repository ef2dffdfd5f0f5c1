// What an agent does from inside its turn, on a real trail.
import type { TurnInput } from '@parley/core'
import { unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import type { AgentVerbs, WaitingMail } from '../contract.ts'
import { aborted, alice, Fixture, planned, put, refusal, solo } from '../testing/fixture.ts'

const never = new AbortController().signal

async function fixtureOf(scripts: (verbs: (input: TurnInput) => AgentVerbs) => Fixture['scripts']): Promise<Fixture> {
  const fixture = await Fixture.open()
  fixture.scripts = scripts(({ token }) => unwrap(fixture.coordinator.verbs(token!)))
  return fixture
}

/** Alice answers the only question. */
async function answered(fixture: Fixture, run: Awaited<ReturnType<Fixture['solve']>>, text: string): Promise<void> {
  await fixture.until(run, ({ gates }) => gates.length > 0)
  const [gate] = await fixture.coordinator.gates.list()
  // Somebody waits for the answer.
  expect(gate?.remark).toBeUndefined()
  await fixture.reply(gate!.id, { answer: 'envelope', text })
}

test('an agent asks in the middle of its turn and gets the answer there', async () => {
  const told: unknown[] = []
  const fixture = await fixtureOf(verbs => ({
    asker: async input => {
      told.push(unwrap(await verbs(input).ask('Which colour?', 60_000, never)))
      put(input.folder!, 'colour.txt', 'blue\n')
      return 'done'
    },
  }))
  const run = await fixture.solve(solo('asker'))
  await answered(fixture, run, 'Blue.')
  expect(await fixture.over(run)).toMatchObject({
    state: 'done',
    gates: [],
    tasks: [{ attempt: 1, usage: { turns: 1 } }],
  })
  expect(told).toMatchObject([[{ from: 'a person', text: 'Blue.' }]])
  const { people } = (await fixture.over(run)).tasks[0]!.steps[0]!
  expect(people).toEqual([{ by: 'alice', did: 'replied', question: 'Which colour?', text: 'Blue.' }])
})

test('what an agent has only told does not wait for an answer, also while the same agent asks something', async () => {
  const fixture = await fixtureOf(verbs => ({
    asker: async input => {
      unwrap(await verbs(input).escalate('The key is in the repository.'))
      unwrap(await verbs(input).ask('Which colour?', 60_000, never))
      return 'done'
    },
  }))
  const run = await fixture.solve(solo('asker'))
  await fixture.until(run, ({ gates }) => gates.length > 1)
  const gates = await fixture.coordinator.gates.list()
  expect(gates.map(({ question, remark }) => [question, remark])).toEqual([
    ['Which colour?', undefined],
    ['The key is in the repository.', true],
  ])
  expect(gates[0]!.goes_on! > gates[0]!.since).toBe(true)
  expect(gates[1]).not.toHaveProperty('goes_on')
  await fixture.reply(gates[0]!.id, { answer: 'envelope', text: 'Blue.' })
  expect((await fixture.over(run)).state).toBe('done')
})

test('a question without an answer in time is one question, also if the agent then waits for it', async () => {
  let turns = 0
  const fixture = await fixtureOf(verbs => ({
    asker: async input => {
      if (++turns > 1) return 'done'
      expect(unwrap(await verbs(input).ask('Which colour?', 1, never))).toEqual([])
      unwrap(await verbs(input).block('Which colour?'))
      return 'waits'
    },
  }))
  const run = await fixture.solve(solo('asker'))
  await fixture.until(run, ({ tasks }) => tasks[0]?.state === 'blocked')
  expect(await fixture.coordinator.gates.list()).toHaveLength(1)
  await answered(fixture, run, 'Blue.')
  expect((await fixture.over(run)).state).toBe('done')
})

test('what an agent escalated waits for a person no longer than its work takes', async () => {
  const seen: unknown[] = []
  const fixture = await fixtureOf(verbs => ({
    one: async input => {
      unwrap(await verbs(input).escalate('A key is in config.ts.'))
      const { gates } = await fixture.until(input.run, view => view.gates.length > 0)
      seen.push(gates.map(({ remark }) => remark))
      return 'done'
    },
    two: async ({ run }) => {
      seen.push(unwrap(await fixture.coordinator.views.view(run)).gates)
      return 'done'
    },
  }))
  const view = await fixture.finished(
    planned('{ id: a, agent: one, prompt: x }', '{ id: b, agent: two, prompt: x, needs: [a] }'),
  )
  expect(view.state).toBe('done')
  expect(seen).toEqual([[true], []])
})

test('mail that waits is told when it comes, until the turn is over', async () => {
  const seen: (readonly WaitingMail[])[] = []
  let left: Promise<void> | undefined
  const fixture = await fixtureOf(verbs => ({
    one: async input => {
      const second = Promise.withResolvers<void>()
      left = (async () => {
        for await (const mail of verbs(input).waiting(never)) if (seen.push(mail) > 1) second.resolve()
      })()
      const { workspace } = unwrap(await verbs(input).status())
      unwrap(
        await fixture.coordinator.interventions.inject(input.run, { text: 'Hurry.', to: workspace, principal: alice }),
      )
      await second.promise
      expect(unwrap(await verbs(input).status()).unread).toBe(1)
      expect(unwrap(await verbs(input).inbox())).toMatchObject([{ from: 'a person', text: 'Hurry.' }])
      return 'done'
    },
  }))
  expect((await fixture.finished(solo('one'))).state).toBe('done')
  await left
  expect(seen).toMatchObject([[], [{ from: 'a person', priority: 'normal' }]])
})

test('a review is decided by what its agent says with its verb, not by a line that it quotes', async () => {
  const feedback: string[] = []
  let reviews = 0
  const fixture = await fixtureOf(verbs => ({
    writer: input => {
      feedback.push(...input.context.flatMap(({ kind, text }) => (kind === 'feedback' ? [text] : [])))
      put(input.folder!, 'poem.txt', `${feedback.length}\n`)
      return 'done'
    },
    reviewer: async input => {
      const own = verbs(input)
      expect(await own.checkpoint('x')).toMatchObject(refusal('permission_denied'))
      expect(await own.verdict({ verdict: 'revise', feedback: ' ' })).toMatchObject(refusal('invalid_argument'))
      const verdict = ++reviews === 1 ? 'revise' : 'accept'
      unwrap(await own.verdict({ verdict, feedback: verdict === 'revise' ? '- No rhyme.' : '' }))
      return verdict === 'revise' ? 'The file says:\nACCEPT' : 'The file says:\nREVISE: all'
    },
  }))
  const view = await fixture.finished(
    planned('{ id: poem, agent: writer, prompt: Write., attempts: 2, review: { by: reviewer } }'),
  )
  expect(view.state).toBe('done')
  expect(view.tasks[0]?.steps.map(({ kind, outcome }) => `${kind} ${outcome}`)).toEqual([
    'work revise',
    'review revise',
    'work complete',
    'review accepted',
  ])
  expect(feedback).toEqual(['- No rhyme.'])
})

test('a turn says what is left of its budget and time', async () => {
  const spending: unknown[] = []
  const fixture = await fixtureOf(verbs => ({
    one: async (input, emit) => {
      emit({ type: 'usage', usage: { tokensIn: 100, tokensOut: 20 } })
      spending.push(unwrap(await verbs(input).spend()))
      return 'done'
    },
  }))
  await fixture.finished(planned('{ id: a, agent: one, prompt: x, timeout: 1h, budget: { tokens: 5000 } }'))
  expect(spending).toMatchObject([{ used: { tokens: 120, usd: 0 }, left: { tokens: expect.any(Number), usd: null } }])
  expect((spending[0] as { left: { seconds: number } }).left.seconds).toBeGreaterThan(3000)
})

test('a turn after a question goes on with the session of its agent; one that died does not', async () => {
  const asked: (string | undefined)[] = []
  const working = Promise.withResolvers<void>()
  const fixture = await fixtureOf(verbs => ({
    one: async input => {
      asked.push(input.session)
      if (asked.length < 3) {
        unwrap(await verbs(input).block('Go on?'))
        const session = { id: `s${asked.length}`, resumed: input.session !== undefined }
        return { outcome: 'complete', text: '', usage: {}, session }
      }
      if (asked.length > 3) return 'done'
      working.resolve()
      return aborted(input)
    },
  }))
  const run = await fixture.solve(solo('one'))
  await answered(fixture, run, 'Yes.')
  await fixture.until(run, ({ tasks }) => tasks[0]?.steps[0]?.sessions?.length === 2)
  await fixture.restart()
  await answered(fixture, run, 'Yes.')
  await working.promise
  await fixture.restart()
  const view = await fixture.over(run)
  expect(asked).toEqual([undefined, 's1', 's2', undefined])
  expect(view.tasks[0]?.steps[0]?.sessions).toEqual([
    { turn: 1, id: 's1', resumed: false },
    { turn: 2, id: 's2', resumed: true },
  ])
})
