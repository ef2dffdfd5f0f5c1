// A peer as an agent: a team names it like any other worker, and another takes over where it cannot work.
import { expect, test } from 'vitest'
import { refusal } from '../testing/calls.ts'
import { type LinkedNode, lastRun, ledgerOf, linkedNode, linkedPair, pinBoth } from '../testing/linked.ts'

const team = (agents: string, plan: string) =>
  `version: 1\nname: far\napproval: none\nagents:\n  far: { peer: bob }\n${agents}plan:\n${plan}`

const TWO = team(
  '  near: { command: [sh, -c, "cat > told.txt; echo ok"], prompt: stdin }\n',
  '  - { id: one, agent: far, prompt: Say a number., paths: [] }\n  - { id: two, agent: near, prompt: Use it., needs: [one] }\n',
)

/** Who takes over, and a team in which it does. */
const NEAR = '  near: { command: [sh, -c, "echo instead"] }\n'
const SPARED = team(NEAR, '  - { id: one, agent: far, fallback: near, prompt: Say a number. }\n')

test('a team has a peer as a worker: its answer is the result, another task builds on it, its cost is the turn’s', async () => {
  const [alice, bob] = await linkedPair()
  bob.stage.answer('the number is 17')
  const run = await alice.ended(await alice.start(TWO))
  const tasks = [{ id: 'one', state: 'done', usage: { usd: 0.25 } }, { state: 'done' }]
  expect(run).toMatchObject({ state: 'done', tasks })
  expect(run.tasks[0]!.steps[0]!.text).toContain('the number is 17')
  expect(bob.stage.prompt).toContain('Say a number.')
  const { fingerprint } = await alice.identity()
  expect(await lastRun(bob)).toMatchObject({ state: 'done', principal: `alp:${fingerprint}` })
  // Who did it pays for it; nothing of it is on the ledger of who asked.
  expect(ledgerOf(bob.place)).toMatchObject({ by_peer: { alice: { usd: 0.25 } } })
  expect((await alice.client.call('budget', 'today', {})).used_usd).toBe(0)
})

test('a run whose peer nobody has pinned is refused before anything starts, unless another can take over', async () => {
  const alice = await linkedNode('alice')
  const error = await refusal(alice.start(TWO))
  expect(error).toMatchObject({ code: 'unknown_peer', message: expect.stringContaining('bob (agent far)') })
  expect((await alice.client.call('runs', 'list', {})).runs).toEqual([])
  expect(await alice.ended(await alice.start(SPARED))).toMatchObject({ state: 'done' })
})

test.each([
  ['is offline', async (bob: LinkedNode) => void (await bob.node.stop('away'))],
  ['has unpinned us', async bob => void (await bob.client.call('peers', 'unpin', { id: 'alice' }))],
  ['has another key', async bob => void (await bob.client.call('link', 'rotate-key', {}))],
])('a peer that %s is an outage: the fallback does the task', async (_what, ruin) => {
  const [alice, bob] = await linkedPair()
  await ruin(bob)
  const run = await alice.ended(await alice.start(SPARED))
  expect(run.state).toBe('done')
  expect(run.tasks[0]!.steps.at(-1)!.text).toContain('instead')
})

test('ALP-ASK-04 a turn that failed at the peer is not its answer: the fallback does the task, and without one the task fails', async () => {
  const [alice] = await linkedPair('  broken: { command: [sh, -c, "exit 4"] }\nalp: { agent: broken }\n')
  expect(await alice.answer('bob', 'Are you well?')).toMatchObject({ failed: true, interrupted: false })
  const task = '{ id: one, agent: far, prompt: Say a number., attempts: 1'
  const alone = await alice.ended(await alice.start(team('', `  - ${task} }\n`)))
  expect(alone).toMatchObject({ state: 'failed', tasks: [{ note: expect.stringContaining('failed there') }] })
  const spared = await alice.ended(await alice.start(team(NEAR, `  - ${task}, fallback: near }\n`)))
  expect(spared).toMatchObject({ state: 'done', tasks: [{ agent: 'near' }] })
})

test('aborting the run cancels the turn at the peer', async () => {
  const [alice, bob] = await linkedPair()
  bob.stage.hold()
  const run = await alice.start(team('', '  - { id: one, agent: far, prompt: Take long. }\n'))
  await bob.stage.atWork()
  await alice.client.call('runs', 'abort', { run })
  expect(await lastRun(bob)).toMatchObject({ state: 'aborted' })
  expect(await alice.ended(run)).toMatchObject({ state: 'aborted' })
  await expect.poll(() => ledgerOf(bob.place).reserved, { timeout: 20_000 }).toBeUndefined()
})

test('a peer of the configuration is listed, found where it is pinned, and solves an intent', async () => {
  const alice = await linkedNode('alice', '  distant: { peer: bob, timeout: 5m }\n')
  const bob = await linkedNode('bob')
  const listed = async () =>
    (await alice.client.call('agents', 'list', {})).agents.find(({ name }) => name === 'distant')
  expect(await listed()).toMatchObject({ source: 'configured', program: 'peer bob', found: false })
  await pinBoth(alice, bob)
  expect(await listed()).toMatchObject({ found: true })
  const input = { intent: 'Say something.', project: alice.stage.folder, agent: 'distant', approved: true }
  const { run } = await alice.client.call('solve', 'start', input)
  expect(await alice.ended(run)).toMatchObject({ state: 'done' })
})
