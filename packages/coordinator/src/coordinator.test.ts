import { readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type ObjectId, type TurnInput, unwrap } from '@parley/core'
import type { EventBody } from '@parley/trail/events'
import { expect, test } from 'vitest'
import { aborted, alice, Fixture, hanging, planned, put, refusal, solo, writes } from './testing/fixture.ts'

test('a plan is worked off in its order, and the result has what every task made', async () => {
  const order: string[] = []
  const noted = (name: string, work: (input: TurnInput) => string) => (input: TurnInput) => {
    order.push(name)
    return work(input)
  }
  const fixture = await Fixture.open({
    one: noted('one', writes('one.txt', 'one')),
    two: noted('two', writes('two.txt', 'two')),
    both: noted('both', input => {
      const read = (name: string) => readFileSync(join(input.folder!, name), 'utf8')
      return writes('both.txt', read('one.txt') + read('two.txt').trimEnd())(input)
    }),
  })
  const run = await fixture.solve(
    planned(
      '{ id: last, agent: both, needs: [first, second], prompt: Join them. }',
      '{ id: first, agent: one, prompt: Write one. }',
      '{ id: second, agent: two, prompt: Write two. }',
    ),
  )
  const view = await fixture.over(run)
  expect(view.state).toBe('done')
  expect(order.at(-1)).toBe('both')
  expect(fixture.result(view, 'both.txt')).toBe('one\ntwo\n')
  expect(view.result?.files.toSorted()).toEqual(['both.txt', 'one.txt', 'two.txt'])
  expect(view.tasks.map(({ state, attempt }) => [state, attempt])).toEqual([
    ['done', 1],
    ['done', 1],
    ['done', 1],
  ])
  expect(fixture.has('one.txt')).toBe(false)
  expect(fixture.leftovers()).toEqual([])
  expect((await fixture.trail.run(run).verify()).findings).toEqual([])
  // The same from the trail alone.
  await fixture.restart()
  expect(unwrap(await fixture.coordinator.views.view(run))).toEqual(view)
})

test('nothing starts before the plan is approved, also after a restart', async () => {
  const fixture = await Fixture.open({ one: writes('one.txt', 'one') })
  const run = await fixture.solve(solo('one'), { approved: false })
  const waiting = await fixture.until(run, ({ gates }) => gates.length > 0)
  expect(waiting.state).toBe('waiting')
  expect(await fixture.entries(run, 'task_assigned')).toEqual([])
  await fixture.restart()
  const [gate] = await fixture.coordinator.gates.list()
  expect(gate).toMatchObject({ run, kind: 'gate', type: 'task_approval', addressee: 'alice' })
  expect(gate).not.toHaveProperty('deadline')
  await fixture.respond(gate!.id, { decision: 'approve' })
  expect((await fixture.over(run)).state).toBe('done')
  const again = await fixture.coordinator.gates.respond(gate!.id, { decision: 'approve', principal: alice })
  expect(again).toMatchObject(refusal('not_found'))
  expect((await fixture.entries(run, 'gate_resolved')).map(({ actor }) => actor)).toEqual(['alice'])
})

test('a plan that is rejected never starts', async () => {
  const fixture = await Fixture.open({ one: writes('one.txt', 'one') })
  const run = await fixture.solve(solo('one'), { approved: false })
  await fixture.until(run, ({ gates }) => gates.length > 0)
  await fixture.respond(run, { decision: 'reject', reason: 'No.' })
  const view = await fixture.over(run)
  expect(view).toMatchObject({
    state: 'rejected',
    tasks_done: 0,
    reason: 'The plan was not approved by alice: No.',
    tasks: [{ state: 'cancelled', note: 'Not done: alice did not approve it: No.' }],
  })
  expect(await fixture.entries(run, 'task_assigned')).toEqual([])
})

test('a reviewer sends work back, and the second attempt knows why', async () => {
  const told: string[] = []
  const seen: unknown[] = []
  const look = async ({ run }: TurnInput) => {
    const [task] = unwrap(await fixture.coordinator.views.view(run)).tasks
    seen.push([task?.state, task?.activity, task?.note])
  }
  const fixture = await Fixture.open({
    writer: async input => {
      await look(input)
      told.push(input.context.map(({ text }) => text).join('\n'))
      const better = told.length > 1
      put(input.folder!, 'poem.txt', better ? 'The sea forgets every ship.\n' : 'sea\n')
      return better ? 'a better one' : 'a short one'
    },
    reviewer: async input => {
      await look(input)
      const diff = input.context.find(({ kind }) => kind === 'diff')!.text
      return diff.includes('ship') ? 'Good.\nACCEPT' : 'It is one word.\nREVISE: make it a sentence'
    },
  })
  const run = await fixture.solve(
    planned(
      '{ id: poem, agent: writer, prompt: Write a line., attempts: 3, review: { by: reviewer, prompt: Is it a sentence? } }',
    ),
  )
  const view = await fixture.over(run)
  expect(view.state).toBe('done')
  expect(view.tasks[0]).toMatchObject({ attempt: 2, state: 'done' })
  expect(told[1]).toContain('make it a sentence')
  expect(seen).toEqual([
    ['working', undefined, undefined],
    ['reviewing', 'review by reviewer', undefined],
    ['working', undefined, expect.stringMatching(/^attempt 1 was sent back: .*make it a sentence/s)],
    ['reviewing', 'review by reviewer', undefined],
  ])
  // §7.4: its directive refers to the attempt that was sent back.
  const entries = await fixture.entries(run, 'workspace_created', 'envelope_created')
  const [first, second] = entries.filter(
    ({ event_type, body }) =>
      event_type === 'workspace_created' && typeof (body as EventBody<'workspace_created'>).task_ref === 'string',
  )
  const directive = entries.find(({ body }) => 'envelope_id' in body && 'to' in body && body.to === second?.workspace)
  const { envelope_id } = directive!.body as EventBody<'envelope_created'>
  const { value } = (await fixture.trail.run(run).object(envelope_id as ObjectId))!
  const attachments = [{ kind: 'workspace_ref', id: first!.workspace }, {}]
  expect(value).toMatchObject({ payload: { content: 'Write a line.', attachments } })
  expect(fixture.result(view, 'poem.txt')).toBe('The sea forgets every ship.\n')
  expect(view.usage.turns).toBe(4)
})

test('work that a check refuses is done again, and its author sees what the check said', async () => {
  const told: string[] = []
  const fixture = await Fixture.open({
    writer: input => {
      told.push(input.context.map(({ text }) => text).join('\n'))
      put(input.folder!, 'n.txt', `${told.length}\n`)
      return 'done'
    },
    'check:count': input => {
      if (readFileSync(join(input.folder!, 'n.txt'), 'utf8') !== '2\n') throw new Error('n.txt must be 2')
      return 'fine'
    },
  })
  const view = await fixture.finished(
    planned("{ id: count, agent: writer, prompt: Count., attempts: 2, check: [scripted, 'check:count'] }"),
  )
  expect(view).toMatchObject({ state: 'done', tasks: [{ attempt: 2 }] })
  expect(told[1]).toContain('n.txt must be 2')
})

test('a task that fails for good takes those that need it along, and the others go on', async () => {
  const fixture = await Fixture.open({
    bad: () => {
      throw new Error('no')
    },
    good: writes('good.txt', 'good'),
  })
  const view = await fixture.finished(
    planned(
      '{ id: broken, agent: bad, prompt: Fail., attempts: 2 }',
      '{ id: after, agent: good, prompt: Never., needs: [broken] }',
      '{ id: later, agent: good, prompt: Never either., needs: [after] }',
      '{ id: apart, agent: good, prompt: Work. }',
    ),
  )
  expect(view.state).toBe('failed')
  expect(view.reason).toContain('no')
  expect(Object.fromEntries(view.tasks.map(({ id, state }) => [id, state]))).toEqual({
    broken: 'failed',
    after: 'cancelled',
    later: 'cancelled',
    apart: 'done',
  })
  expect(view.tasks.find(({ id }) => id === 'broken')).toMatchObject({ attempt: 2, usage: { turns: 2 } })
  expect(fixture.result(view, 'good.txt')).toBe('good\n')
  expect(view.tasks[1]!.note).toBe('Not done: it needs broken, which was not done.')
})

test('what an agent may not change is put back and recorded', async () => {
  const fixture = await Fixture.open({
    careless: input => {
      put(input.folder!, 'mine/a.txt', 'a\n')
      // A name in another encoding is one of its own like any other.
      writeFileSync(Buffer.from(`${input.folder}/mine/\xe4.txt`, 'latin1'), 'b\n')
      put(input.folder!, 'README.md', 'Spoiled.\n')
      return 'done'
    },
  })
  const run = await fixture.solve(planned("{ id: work, agent: careless, prompt: Work., paths: ['mine/**'] }"))
  const view = await fixture.over(run)
  expect(view.tasks[0]).toMatchObject({
    state: 'done',
    files: ['mine/a.txt', 'mine/\ufffd.txt'],
    refused: ['README.md'],
  })
  expect(fixture.result(view, 'README.md')).toBe('A project.\n')
  const body = { capability: 'folder:write', target: 'README.md', reason: 'containment_violation' }
  expect(await fixture.entries(run, 'capability_denied')).toMatchObject([{ body }])
})

test('a turn that a stop interrupts is run again from its last checkpoint, and its old token is refused', async () => {
  const tokens: string[] = []
  const seen: string[] = []
  const working = Promise.withResolvers<void>()
  const fixture = await Fixture.open({
    slow: async input => {
      tokens.push(input.token!)
      seen.push(readFileSync(join(input.folder!, 'README.md'), 'utf8'))
      if (input.epoch > 1) return writes('slow.txt', 'slow')(input)
      put(input.folder!, 'README.md', 'Half done.\n')
      const verbs = unwrap(fixture.coordinator.verbs(tokens[0]!))
      unwrap(await verbs.checkpoint('half of it'))
      put(input.folder!, 'README.md', 'Not kept.\n')
      working.resolve()
      return aborted(input)
    },
  })
  const run = await fixture.solve(solo('slow'))
  await working.promise
  await fixture.restart()
  const view = await fixture.over(run)
  expect(view).toMatchObject({ state: 'done', tasks: [{ attempt: 1 }] })
  expect(seen).toEqual(['A project.\n', 'Half done.\n'])
  expect(new Set(tokens).size).toBe(2)
  expect(fixture.coordinator.verbs(tokens[0]!)).toMatchObject(refusal('permission_denied'))
  expect(fixture.result(view, 'README.md')).toBe('Half done.\n')
})

test('a run whose project was away when the node started goes on when it is back', async () => {
  const working = Promise.withResolvers<void>()
  let turns = 0
  const fixture = await Fixture.open({
    slow: async input => {
      if (++turns > 1) return writes('one.txt', 'one')(input)
      working.resolve()
      return aborted(input)
    },
  })
  const run = await fixture.solve(solo('slow'))
  await working.promise
  await fixture.stop()
  renameSync(fixture.project, `${fixture.project}.away`)
  await fixture.start()
  expect(unwrap(await fixture.coordinator.views.view(run)).state).toBe('working')
  renameSync(`${fixture.project}.away`, fixture.project)
  const view = async () => unwrap(await fixture.coordinator.views.view(run))
  await expect.poll(async () => (await view()).result?.branch, { timeout: 30_000 }).toMatch(/^parley\//)
  expect(fixture.result(await view(), 'one.txt')).toBe('one\n')
})

test('an agent that waits for an answer gets it in its next turn', async () => {
  const told: string[] = []
  const fixture = await Fixture.open({
    asker: async input => {
      told.push(input.context.map(({ text }) => text).join('\n'))
      if (told.length === 1) {
        put(input.folder!, 'begun.txt', 'begun\n')
        unwrap(await unwrap(fixture.coordinator.verbs(input.token!)).block('Which colour?'))
        return 'waiting'
      }
      put(input.folder!, 'colour.txt', 'blue\n')
      return 'done'
    },
  })
  const run = await fixture.solve(solo('asker'))
  const blocked = await fixture.until(run, ({ gates }) => gates.length > 0)
  expect(blocked).toMatchObject({
    gates: [{ kind: 'question', question: 'Which colour?' }],
    tasks: [{ state: 'blocked' }],
  })
  await fixture.restart()
  const [gate] = await fixture.coordinator.gates.list()
  await fixture.reply(gate!.id, { answer: 'envelope', text: 'Blue.' })
  const view = await fixture.over(run)
  expect(view.state).toBe('done')
  expect(told[1]).toContain('Which colour?')
  expect(told[1]).toContain('Blue.')
  expect(fixture.result(view, 'begun.txt')).toBe('begun\n')
  expect(fixture.result(view, 'colour.txt')).toBe('blue\n')
})

test('an abort ends turns at once and leaves no folder', async () => {
  const slow = hanging()
  const fixture = await Fixture.open({ slow: slow.script })
  const run = await fixture.solve(solo('slow'))
  const { signal } = await slow.begun
  await fixture.abort(run, { reason: 'enough' })
  const view = await fixture.over(run)
  expect(view).toMatchObject({ state: 'aborted', tasks: [{ state: 'failed' }] })
  expect(signal.aborted).toBe(true)
  await fixture.restart()
  expect(fixture.leftovers()).toEqual([])
  expect(fixture.git('for-each-ref', 'refs/parley').trim()).toBe('')
})

test('two tasks that change the same lines: the second is done again on the present state', async () => {
  const first = Promise.withResolvers<void>()
  const second = Promise.withResolvers<void>()
  const fixture = await Fixture.open({
    one: async input => {
      first.resolve()
      await second.promise
      put(input.folder!, 'README.md', 'One.\n')
      return 'one'
    },
    two: async input => {
      const before = readFileSync(join(input.folder!, 'README.md'), 'utf8')
      second.resolve()
      await first.promise
      put(input.folder!, 'README.md', before === 'A project.\n' ? 'Two.\n' : `${before}Two.\n`)
      return 'two'
    },
  })
  const view = await fixture.finished(
    planned('{ id: a, agent: one, prompt: One. }', '{ id: b, agent: two, prompt: Two. }'),
  )
  expect(view.state).toBe('done')
  expect(view.tasks.map(({ attempt }) => attempt).toSorted()).toEqual([1, 2])
})

test('a caller who has left before the run began gets none', async () => {
  const fixture = await Fixture.open({ one: writes('one.txt', 'one') })
  const left = await fixture.trySolve(solo('one'), { caller: AbortSignal.abort() })
  expect(left).toMatchObject(refusal('unavailable'))
  expect(await fixture.coordinator.runs.list()).toEqual([])
  expect(readdirSync(join(fixture.profile, 'runs'))).toEqual([])
  expect(fixture.git('for-each-ref', 'refs/parley')).toBe('')
})
