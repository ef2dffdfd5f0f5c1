// Two nodes that have pinned each other: asks both ways as runs on the record, streamed, refused, cancelled,
// remembered.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { refusal } from '../testing/calls.ts'
import {
  configure,
  type LinkedNode,
  lastRun,
  ledgerOf,
  linkedGround,
  linkedNode,
  linkedPair,
  pin,
  pinBoth,
  startLinked,
} from '../testing/linked.ts'
import { TEAM } from '../testing/real.ts'

const remote = (error: { details: unknown }) => error.details as { code: number; message: string; data: unknown }

/** Alice and carol, each of whom has pinned bob, as he has them. */
async function three(): Promise<readonly [LinkedNode, LinkedNode, LinkedNode]> {
  const [[alice, bob], carol] = [await linkedPair(), await linkedNode('carol')]
  await pinBoth(carol, bob)
  return [alice, bob, carol]
}

test('ALP-ASK-02 two nodes pin each other by a line, ping, and ask both ways; each ask is a run on the record', async () => {
  const [alice, bob] = await linkedPair()
  const pong = { peer: 'bob', version: 1, agent_name: 'default' }
  expect(await alice.client.call('link', 'ping', { peer: 'bob' })).toMatchObject(pong)
  for (const [asker, asked] of [
    [alice, bob],
    [bob, alice],
  ] as const) {
    asked.stage.answer(`I am ${asked.name}`)
    const { fingerprint } = await asker.identity()
    expect(await asker.answer(asked.name, '  Who are you?  ')).toMatchObject({
      text: `I am ${asked.name}`,
      tokens_in: 100,
      tokens_out: 20,
      usd: 0.25,
      interrupted: false,
    })
    const run = await lastRun(asked)
    expect(run).toMatchObject({
      state: 'done',
      principal: `alp:${fingerprint}`,
      intent: 'Who are you?',
      project: asked.place.path('default', 'desk'),
      tasks: [{ id: 'answer', title: 'Answer a peer', state: 'done', attempts: 1 }],
      usage: { turns: 1, tokens_in: 100, tokens_out: 20, usd: 0.25 },
    })
    const { entries } = await asked.client.call('trail', 'query', { run: run.run, limit: 256 })
    expect(JSON.stringify(entries)).toContain(`alp:${fingerprint}`)
    expect(await asked.client.call('trail', 'verify', { run: run.run })).toMatchObject({ sound: true })
    expect(ledgerOf(asked.place)).toMatchObject({ by_peer: { [asker.name]: { usd: 0.25, tokens: 120 } } })
    const { peers } = await asked.client.call('peers', 'list', {})
    expect(peers).toMatchObject([{ id: asker.name, fingerprint, spent_today: { usd: 0.25, tokens: 120 } }])
  }
})

test('ALP-ASK-06 an ask is watched: its session, its text while the turn is at work, then its answer', async () => {
  const [alice, bob] = await linkedPair()
  bob.stage.hold()
  const types: string[] = []
  let text = ''
  for await (const value of alice.asked('bob', 'Go on.')) {
    if (types.at(-1) !== value.type) types.push(value.type)
    if (value.type !== 'text') continue
    text += value.text
    // It is not released before its text has been seen here.
    bob.stage.release()
  }
  expect(types).toEqual(['session', 'text', 'answer'])
  expect(text).toContain('at work')
})

test('ALP-ASK-05 while a turn runs, another ask is told so at once', async () => {
  const [alice, bob, carol] = await three()
  bob.stage.hold()
  const first = alice.answer('bob', 'One.')
  await bob.stage.atWork()
  const busy = await refusal(carol.answer('bob', 'Two.'))
  expect(busy.code).toBe('peer_refused')
  expect(remote(busy)).toMatchObject({ code: -32007, message: 'target-busy', data: { detail: expect.any(String) } })
  // Another caller's turn is nobody's business (ALP-CANCEL-02).
  expect(await carol.client.call('link', 'cancel', { peer: 'bob' })).toEqual({ cancelled: false })
  bob.stage.release()
  expect(await first).toMatchObject({ text: 'a word' })
  expect((await bob.client.call('runs', 'list', {})).runs).toHaveLength(1)
})

test('ALP-CANCEL-01 a turn is cancelled by its session: the run is ended, what it cost is booked', async () => {
  const [alice, bob] = await linkedPair()
  bob.stage.hold()
  const values = alice.asked('bob', 'Take long.')[Symbol.asyncIterator]()
  const first = await values.next()
  expect(first.value).toMatchObject({ type: 'session' })
  await bob.stage.atWork()
  const { session } = first.value as { session: string }
  const cancel = (other = session) => alice.client.call('link', 'cancel', { peer: 'bob', session: other })
  expect(await cancel('another')).toEqual({ cancelled: false })
  expect(await cancel()).toEqual({ cancelled: true })
  let last = first.value
  for (let next = await values.next(); !next.done; next = await values.next()) last = next.value
  expect(last).toMatchObject({ type: 'answer', session, interrupted: true })
  expect(await lastRun(bob)).toMatchObject({ state: 'aborted' })
  expect(ledgerOf(bob.place).reserved).toBeUndefined()
  expect(await cancel()).toEqual({ cancelled: false })
})

test('ALP-CANCEL-02 whoever stops listening has the turn cancelled, also where cancelling is not allowed', async () => {
  const alice = await linkedNode('alice')
  const bob = await linkedNode('bob')
  await pin(alice, bob)
  for (const allow of [['link.ask', 'link.cancel'], ['link.ask']]) {
    await pin(bob, alice, { allow })
    bob.stage.forgetPrompt()
    bob.stage.hold()
    for await (const value of alice.asked('bob', 'Take long.')) if (value.type === 'text') break
    const run = await lastRun(bob)
    expect(run.state, allow.join()).toBe('aborted')
    await bob.client.call('peers', 'unpin', { id: 'alice' })
  }
  await expect.poll(() => ledgerOf(bob.place).reserved, { timeout: 20_000 }).toBeUndefined()
})

test('ALP-PEER-03 ALP-RATE-03 what a peer may not call, or not so often, is refused with the words of the sheet', async () => {
  const alice = await linkedNode('alice')
  const bob = await linkedNode('bob')
  await pin(alice, bob)
  await pin(bob, alice, { allow: ['link.ping'], per_minute: 2 })
  const denied = await refusal(alice.answer('bob', 'May I?'))
  expect(remote(denied)).toEqual({ code: -32001, message: 'capability-denied', data: { method: 'link.ask' } })
  await alice.client.call('link', 'ping', { peer: 'bob' })
  const often = await refusal(alice.client.call('link', 'ping', { peer: 'bob' }))
  expect(remote(often)).toEqual({ code: -32005, message: 'rate-limited', data: { window_seconds: 60 } })
  expect((await bob.client.call('runs', 'list', {})).runs).toEqual([])
  // An edit applies to the next request (ALP-PEER-06).
  await bob.client.call('peers', 'allow', { id: 'alice', allow: ['link.ask'] })
  expect((await bob.client.call('peers', 'list', {})).peers).toMatchObject([{ allow: ['link.ask'] }])
})

test('ALP-BUD-03 the daily budget refuses with its cap and what is used; raised, it applies at once', async () => {
  const [alice, bob] = await linkedPair('budget: { daily_usd: 0.2 }\n')
  expect(await alice.answer('bob', 'One.')).toMatchObject({ usd: 0.25 })
  const spent = await refusal(alice.answer('bob', 'Two.'))
  const data = { cap_kind: 'usd', cap: 0.2, used: 0.25 }
  expect(remote(spent)).toEqual({ code: -32005, message: 'budget-exceeded', data })
  // The profile's own runs are held to the same day (ALP-BUD-01).
  expect((await refusal(bob.start(TEAM))).code).toBe('budget_exceeded')
  configure(bob.place, 'budget: { daily_usd: 5 }\n')
  expect(await alice.answer('bob', 'Three.')).toMatchObject({ text: 'a word' })
})

test('ALP-BUD-01 an answer that costs more than was set aside for it is not thrown away; one beyond the day is', async () => {
  const alice = await linkedNode('alice')
  const usage = `{"type":"usage","usd":3}`
  const dear = `  dear: { command: [sh, -c, 'echo ''${usage}''; echo ''{"type":"result","text":"worth it"}''' ], output: json-lines }\n`
  const bob = await linkedNode('bob', `${dear}alp: { agent: dear }\nbudget: { daily_usd: 5 }\n`)
  await pinBoth(alice, bob)
  expect(await alice.answer('bob', 'How much?')).toMatchObject({ text: 'worth it', usd: 3, failed: false })
  const over = { text: '[error] The turn went over its budget.', usd: 3, failed: true }
  expect(await alice.answer('bob', 'Once more?')).toMatchObject(over)
})

test('ALP-BUD-08 a cancelled turn whose agent tells its cost at the end is booked with all that was set aside', async () => {
  const alice = await linkedNode('alice')
  const { place, stage } = linkedGround('bob')
  // The cost comes with the result, as most agents tell it.
  const script = [
    'cat > "$STAGE/prompt.part"; mv "$STAGE/prompt.part" "$STAGE/prompt"',
    'while [ -e "$STAGE/hold" ]; do sleep 0.02; done',
    `echo '{"type":"usage","tokens_in":100,"tokens_out":20,"usd":0.25}'`,
    `echo '{"type":"result","text":"a word"}'`,
  ]
  writeFileSync(join(place.home, 'late.sh'), script.join('\n'))
  const command = JSON.stringify(['sh', join(place.home, 'late.sh')])
  const late = `  late: { command: ${command}, output: json-lines, env: { STAGE: ${JSON.stringify(stage.folder)} } }\n`
  configure(place, `${late}alp: { agent: late }\nbudget: { daily_usd: 2 }\n`)
  const bob = await startLinked('bob', place, stage)
  await pinBoth(alice, bob)
  const cancelled = async () => {
    stage.forgetPrompt()
    stage.hold()
    const answer = alice.answer('bob', 'Take long.')
    await stage.atWork()
    expect(await alice.client.call('link', 'cancel', { peer: 'bob' })).toEqual({ cancelled: true })
    return answer
  }
  // Nobody knows yet whether the agent tells its costs: it counts all the same.
  expect(await cancelled()).toMatchObject({ interrupted: true, usd: 1 })
  stage.release()
  expect(await alice.answer('bob', 'Be quick.')).toMatchObject({ usd: 0.25 })
  expect(await cancelled()).toMatchObject({ interrupted: true, usd: 0.75 })
  expect(ledgerOf(place).by_peer.alice).toMatchObject({ usd: 2 })
  expect(remote(await refusal(alice.answer('bob', 'More?')))).toMatchObject({ message: 'budget-exceeded' })
})

test('ALP-ASK-08 what was said before is told first, also after a restart, and to nobody else', async () => {
  const [alice, bob, carol] = await three()
  bob.stage.answer('the answer is 41')
  await alice.answer('bob', 'What is the number?')
  bob.stage.answer('it is 42')
  await alice.answer('bob', 'And the next one?')
  expect(bob.stage.prompt).toContain('What is the number?')
  expect(bob.stage.prompt).toContain('the answer is 41')
  const said = ['What is the number?', 'the answer is 41'].map(text => bob.stage.prompt.indexOf(text))
  expect(said).toEqual(said.toSorted((one, other) => one - other))
  await carol.answer('bob', 'Who was here?')
  expect(bob.stage.prompt).not.toContain('What is the number?')
  await bob.node.stop('enough')
  const again = await startLinked('bob', bob.place, bob.stage)
  await alice.client.call('peers', 'unpin', { id: 'bob' })
  await pin(alice, again)
  await alice.answer('bob', 'Do you remember?')
  expect(bob.stage.prompt).toContain('it is 42')
})

test('the agent that answers sees the project that the owner chose, and changes nothing in it', async () => {
  const alice = await linkedNode('alice')
  const { place, stage } = linkedGround('bob')
  const project = join(place.home, 'papers')
  mkdirSync(project)
  writeFileSync(join(project, 'paper.txt'), 'as it was')
  const agent = `  clerk: { command: [sh, -c, 'cat paper.txt; echo spoiled > paper.txt; echo more > other.txt'] }\n`
  configure(place, `${agent}alp: { agent: clerk, project: ${JSON.stringify(project)} }\n`)
  const bob = await startLinked('bob', place, stage)
  await pinBoth(alice, bob)
  expect(await alice.answer('bob', 'What does it say?')).toMatchObject({ text: 'as it was', interrupted: false })
  expect(readdirSync(project)).toEqual(['paper.txt'])
  expect(readFileSync(join(project, 'paper.txt'), 'utf8')).toBe('as it was')
  const run = await lastRun(bob)
  expect(run.tasks).toMatchObject([{ files: [], refused: expect.arrayContaining(['other.txt', 'paper.txt']) }])
  // No copy of the project is left for each ask.
  expect(run.result?.folder).toBeUndefined()
  expect(existsSync(place.path('default', 'runs', run.run, 'result'))).toBe(false)
})

test('an owner who wants to be asked first is asked first', async () => {
  const [alice, bob] = await linkedPair('alp: { approval: ask }\n')
  const answer = alice.answer('bob', 'May I ask?')
  const gates = async () => (await bob.client.call('gates', 'list', {})).gates
  await expect.poll(async () => (await gates()).length, { timeout: 20_000 }).toBe(1)
  const [gate] = await gates()
  // Whoever approves sees what.
  expect(gate).toMatchObject({ question: 'alice asks: "May I ask?" May player answer?' })
  expect((await bob.client.call('runs', 'list', {})).runs).toMatchObject([{ state: 'waiting' }])
  await bob.client.call('gates', 'respond', { gate: gate!.id, decision: 'approve' })
  expect(await answer).toMatchObject({ text: 'a word' })
})

test('an agent that cannot work is told to the owner, and to the peer only that', async () => {
  const [alice, bob] = await linkedPair('alp: { agent: nobody-knows }\n')
  const failed = await refusal(alice.answer('bob', 'Are you there?'))
  expect(remote(failed)).toMatchObject({ code: -32603, message: 'internal-error' })
  expect(JSON.stringify(failed.details)).not.toContain('nobody-knows')
  const told = { level: 'error', message: expect.stringContaining('nobody-knows') }
  expect(bob.log.lines).toContainEqual(expect.objectContaining(told))
  expect(ledgerOf(bob.place)).toMatchObject({ by_peer: { alice: { usd: 0 } } })
})
