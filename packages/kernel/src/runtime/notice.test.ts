// Notices (wacp-primitives 0.7): each reaches the agents that it is for, after what it names is on the trail, and
// nobody else.
import { unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { type Fixture, fixture, withWorker } from '../testing/fixture.ts'
import { withNotes } from '../testing/mail.ts'
import { graphOf } from '../testing/tasks.ts'
import type { Notice } from './notice.ts'

/** Listens as the agents with these names do, and shows what each heard since it was last asked. */
function listen(f: Fixture, ...names: string[]): () => Promise<Record<string, string[]>> {
  const heard = new Map<string, string[]>(names.map(name => [name, []]))
  for (const name of names) {
    const agent = name === 'R' ? f.root : f.agent(name)
    agent.subscribe(notice => heard.get(name)?.push(shown(f, notice)))
  }
  return async () => {
    await f.settle()
    const all = [...heard].map(([name, notices]) => [name, notices.splice(0)] as const)
    return Object.fromEntries(all.filter(([, notices]) => notices.length > 0))
  }
}

function shown(f: Fixture, notice: Notice): string {
  switch (notice.kind) {
    case 'mail':
      return `mail ${f.nameOf(notice.envelope)} from ${f.nameOf(notice.from)}`
    case 'signal':
      return [notice.type, 'of', f.nameOf(notice.from), notice.reason].filter(Boolean).join(' ')
    case 'state':
      return `${f.nameOf(notice.workspace)} ${notice.from} to ${notice.state} by ${notice.trigger}`
    case 'reparented':
      return `${f.nameOf(notice.workspace)} from ${f.nameOf(notice.from)} to ${f.nameOf(notice.parent)}`
    case 'owner':
      return `${f.nameOf(notice.workspace)} of ${notice.from} now of ${notice.owner}`
    case 'budget':
      return `${f.nameOf(notice.workspace)} ${notice.dimension} ${notice.mark} ${notice.consumed}/${notice.limit}`
    case 'recovered':
      return `recovered ${notice.counts.workspaces_recovered} workspaces`
    case 'degraded':
      return `degraded ${notice.scope}`
    case 'silence':
      return `${f.nameOf(notice.workspace)} silent for ${notice.interval}`
    case 'security':
      return `${notice.event} ${f.nameOf(notice.subject)} ${notice.reason}`
    case 'user':
      return `${notice.event} ${notice.user}`
    case 'escalation':
      return `escalation ${f.nameOf(notice.signal)} ${notice.event}`
    case 'gate_opened':
    case 'gate_handed_over':
    case 'gate_ended':
      return `${notice.kind} ${f.nameOf(notice.gate)}`
    case 'undeliverable':
      return `undeliverable ${f.nameOf(notice.envelope)} ${notice.reason}`
    case 'unresolvable':
      return `unresolvable ${notice.tasks.map(task => f.nameOf(task)).join(' ')}`
  }
}

test('mail is announced to its receiver, the receipt to its sender', async () => {
  const f = await fixture()
  const worker = await f.worker('W')
  await f.worker('W2')
  await f.observer('O')
  const heard = listen(f, 'R', 'W', 'W2', 'O')
  f.name(unwrap(await f.root.feedback(f.id('W'), { format: 'markdown', content: 'x' })).envelope, 'E1')
  expect(await heard()).toEqual({ W: ['mail E1 from R'], R: ['acknowledged of W'] })
  f.name(unwrap(await worker.send(f.mail('R', 'query'))).envelope, 'E2')
  expect(await heard()).toEqual({ R: ['mail E2 from W'], W: ['acknowledged of R'] })
  // What is refused is the sender's affair alone, and the sender has its answer.
  await worker.send(f.mail('W2', 'query'))
  expect(await heard()).toEqual({})
})

test('signals are announced to the parent; states to the agent and to the coordinator', async () => {
  const f = await fixture()
  const delegate = await f.worker('D', { delegate: true })
  await f.worker('W')
  const child = await f.worker('C', {}, delegate)
  const heard = listen(f, 'R', 'D', 'W', 'C')
  unwrap(await child.blocked('no input'))
  const blocked = 'C active to blocked by agent_blocked'
  expect(await heard()).toEqual({ C: [blocked], R: [blocked], D: ['blocked of C no input'] })
  unwrap(await f.root.abort(f.id('D')))
  const failures = ['D active to failed by aborted_by_coordinator', 'C blocked to failed by parent_failed'] as const
  expect(await heard()).toEqual({
    D: [failures[0]],
    C: [failures[1]],
    R: [...failures, 'failed of D aborted_by_coordinator'],
  })
})

test('an envelope that cannot arrive any more is announced to its sender and the coordinator', async () => {
  const f = await fixture({ run: withNotes })
  const worker = await f.worker('W')
  await f.worker('W2')
  await f.worker('W3')
  unwrap(await f.root.grantRight('send', f.id('W'), f.id('W2')))
  await f.bring('W2', 'suspended')
  f.name(unwrap(await worker.send(f.mail('W2', 'note'))).envelope, 'E')
  await f.settle()
  const heard = listen(f, 'R', 'W', 'W2', 'W3')
  unwrap(await f.root.abort(f.id('W2')))
  const failed = 'W2 suspended to failed by aborted_by_coordinator'
  expect(await heard()).toEqual({
    W: ['undeliverable E failed'],
    W2: [failed],
    R: [failed, 'failed of W2 aborted_by_coordinator', 'undeliverable E failed'],
  })
})

test('tasks that hang on a cancelled one are announced to the coordinator', async () => {
  const f = await withWorker()
  const { id } = await graphOf(f, { a: {}, b: { depends_on: ['a'] }, c: { depends_on: ['b'] }, d: {} })
  const heard = listen(f, 'R', 'W')
  unwrap(await f.root.cancelTask(id('d')))
  expect(await heard()).toEqual({})
  unwrap(await f.root.cancelTask(id('a')))
  expect(await heard()).toEqual({ R: ['unresolvable b c'] })
})

test('a notice comes when its entry is durable, never for what failed, and no more once it is unsubscribed', async () => {
  const f = await fixture()
  const worker = await f.worker('W')
  const entries = (await f.run.entries()).length
  const seen: Promise<number>[] = []
  const off = f.root.subscribe(() => seen.push(f.run.entries().then(all => all.length)))
  unwrap(await worker.blocked('waiting'))
  await f.settle()
  expect(await Promise.all(seen)).toEqual([entries + 3, entries + 3])
  f.disks.trail.fail('sync', { times: Number.POSITIVE_INFINITY })
  expect((await worker.started()).ok).toBe(false)
  f.disks.trail.mend()
  await f.settle()
  expect(seen).toHaveLength(2)
  off()
  off()
  unwrap(await worker.started())
  await f.settle()
  expect(seen).toHaveLength(2)
})

test('receive hands out mail that is there, or waits for it; it can be given up', async () => {
  const f = await fixture()
  const worker = await f.worker('W')
  const mail = () => f.root.feedback(f.id('W'), { format: 'markdown', content: 'x' })
  const first = unwrap(await mail()).envelope
  await f.settle()
  expect(unwrap(await worker.receive()).id).toBe(first)
  const waiting = worker.receive()
  await f.settle()
  const second = unwrap(await mail()).envelope
  expect(unwrap(await waiting).id).toBe(second)

  const controller = new AbortController()
  const givenUp = worker.receive(controller.signal)
  await f.settle()
  controller.abort()
  expect(await givenUp).toMatchObject({ ok: false, error: { details: { reason: 'aborted' } } })
  // An agent whose workspace ends is not left waiting.
  const last = worker.receive()
  await f.settle()
  unwrap(await f.root.abort(f.id('W')))
  expect(await last).toMatchObject({ ok: false, error: { code: 'invalid_state' } })
})
