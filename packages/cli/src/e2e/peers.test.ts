// Two people on two homes, each with a node of its own: pinned by one pasted line, asking each other over Noise on
// loopback.
import { spawnSync } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { AnswerView, PeerView, PendingView, RunSummaryView, RunView } from '../node/views.ts'
import { type Answering, Person, repeats, written } from '../testing/pair.ts'
import { teamFile } from '../testing/team.ts'
import { gone } from '../testing/world.ts'

const people: Person[] = []
afterEach(async () => {
  await Promise.all(people.splice(0).map(person => person.close()))
})

type Runs = { readonly runs: readonly RunSummaryView[] }

/** Two whose nodes are up; mira knows bob. */
async function two(answering: { readonly bob?: Answering } = {}, more: readonly string[] = []) {
  const mira = new Person('mira', repeats)
  const bob = new Person('bob', answering.bob ?? repeats, more)
  people.push(mira, bob)
  await Promise.all([mira.begin(), bob.begin()])
  await mira.pastes(bob)
  return { mira, bob }
}

/** And bob knows mira. */
async function pair(answering: { readonly bob?: Answering } = {}, more: readonly string[] = []) {
  const both = await two(answering, more)
  await both.bob.pastes(both.mira)
  return both
}

describe('two people, pinned by one pasted line each', () => {
  const mira = new Person('mira', repeats)
  const bob = new Person('bob', repeats)
  beforeAll(async () => {
    await Promise.all([mira.begin(), bob.begin()])
    await mira.pastes(bob)
    await bob.pastes(mira)
  })
  afterAll(() => Promise.all([mira.close(), bob.close()]))

  test('they ping, and ask in both directions', async () => {
    const { listening, invitation } = await bob.identity()
    const { at } = listening.find(({ carrier }) => carrier === 'tcp')!
    expect(at).toMatch(/^127\.0\.0\.1:\d+$/)
    expect(invitation).toContain(`@${at}`)
    expect((await mira.parley('ping', 'bob')).out).toContain('bob answers: profile default, ALP version 1')
    const there = await mira.parley('ask', 'bob', 'Now: are you there?')
    expect(there).toEqual({ code: 0, out: 'bob heard: Now: are you there?\n', err: '' })
    const back = bob.start(['ask', 'mira', '-', '--json'], { input: 'Now: and you?\n' })
    const answer = JSON.parse((await back.ended).out) as AnswerView
    expect(answer).toMatchObject({ text: 'mira heard: Now: and you?', interrupted: false })
  })

  test('ALP-MENTION-04 a mention asks the peer: a run there under the key of whoever asked, and none here', async () => {
    const mentioned = await mira.parley('solve', '@bob Now: which version?')
    expect(mentioned).toMatchObject({ code: 0, out: 'bob heard: Now: which version?\n' })
    const { fingerprint } = await mira.identity()
    const runsOf = async (person: Person) =>
      (await person.json<{ runs: RunSummaryView[] }>('runs')).runs.filter(({ intent }) =>
        intent.includes('which version'),
      )
    expect(await runsOf(bob)).toMatchObject([
      { state: 'done', principal: `alp:${fingerprint}`, intent: 'Now: which version?', team: 'answer' },
    ])
    expect(await runsOf(mira)).toEqual([])
    expect((await bob.parley('trail', 'verify')).code).toBe(0)
  })

  test('a peer is a worker of a team, and its words reach the next task', async () => {
    const team = teamFile({ writer: 'cat > told.txt' }, [
      '{ id: ask, title: Ask bob, agent: bob, prompt: "Now: which colour?", paths: [] }',
      '{ id: write, title: Write it down, agent: writer, prompt: Write the colour., needs: [ask] }',
    ]).replace('agents:\n', 'agents:\n  bob: { peer: bob }\n')
    mira.team(team)
    const solved = await mira.parley('solve', 'Paint it', '--yes')
    expect(solved.code, solved.err + solved.out).toBe(0)
    const { result, tasks } = await mira.json<RunView>('show')
    expect(tasks[0]).toMatchObject({ id: 'ask', state: 'done', agent: 'bob' })
    expect(mira.git('show', `${result!.branch}:told.txt`)).toContain('bob heard: Now: which colour?')
  })
})

test('the example of the guide for one machine works as it stands there', async () => {
  const mira = new Person('mira', repeats)
  people.push(mira)
  const guide = readFileSync(join(import.meta.dirname, '../../../../docs/guide/alp.md'), 'utf8')
  const example = guide.slice(guide.indexOf('### On one machine'))
  const [, script = ''] = /```sh\n([\s\S]*?)```/.exec(example) ?? []
  const ran = await mira.start(['-c', script], { program: 'bash', env: { TMPDIR: mira.folder } }).ended
  expect(ran.out, ran.err).toContain('bob was told:\nAre you there?\n')
  expect(ran.code).toBe(0)
})

const terminals = spawnSync('script', ['--version']).status === 0 && process.platform === 'linux'

test.runIf(terminals)('ALP-ASK-07 on a terminal the answer is there before it is whole', async () => {
  const { mira, bob } = await pair({
    bob: person => `echo first half; while [ ! -e '${person.mark('go')}' ]; do sleep 0.05; done; echo second half`,
  })
  const asking = mira.start(['--quiet', '--return', '--command', 'parley ask bob x', '/dev/null'], {
    program: 'script',
    env: { TERM: 'xterm', SHELL: '/bin/sh' },
  })
  await asking.printed('first half')
  writeFileSync(bob.mark('go'), '')
  const { out, code } = await asking.ended
  expect(code).toBe(0)
  expect(out.match(/first half/g)?.length).toBe(1)
  expect(out).toContain('second half')
  expect(out).toContain('tokens in')
})

const slow: Answering = person => `echo $$ > '${person.mark('pid')}'; echo begun; exec sleep 300`

test('a node that is killed in mid-answer: who asked is told; its run is ended and paid for, and nothing goes on running', async () => {
  const { mira, bob } = await pair({ bob: slow }, ['budget: { daily_usd: 5 }'])
  const asking = mira.start(['ask', 'bob', 'Take your time', '--json'])
  const pid = Number(await written(bob.mark('pid')))
  bob.node!.child.kill('SIGKILL')
  const { code, err, out } = await asking.ended
  expect({ code, out }).toEqual({ code: 4, out: '' })
  expect(JSON.parse(err)).toMatchObject({
    error: {
      code: 'link_empty_response',
      message: 'The connection to bob was lost while it was answering.',
      details: { peer: 'bob' },
    },
  })

  await bob.begin()
  await gone(pid)
  const { runs } = await bob.json<Runs>('runs')
  const [view] = runs
  expect(view).toMatchObject({ intent: 'Take your time', state: 'aborted' })
  expect((await bob.parley('trail', 'query', view!.run, '--json', '--limit', '256')).out).toContain(
    'nobody waits for the answer',
  )
  expect((await bob.parley('trail', 'verify')).code).toBe(0)
  // Nobody knows what the turn cost: all that was set aside is booked.
  expect(bob.ledger().reserved ?? {}).toEqual({})
  expect(bob.ledger().by_peer.mira).toEqual({ tokens: 0, usd: 1 })
})

test('ALP-CANCEL-01 Ctrl-C ends the turn at the peer, without and with leave to cancel', async () => {
  const { mira, bob } = await pair({ bob: slow })
  for (const allow of [['link.ask'], ['link.ask', 'link.cancel']]) {
    expect((await bob.parley('peers', 'allow', 'mira', ...allow)).code).toBe(0)
    rmSync(bob.mark('pid'), { force: true })
    const asking = mira.start(['ask', 'bob', 'Take your time'])
    const pid = Number(await written(bob.mark('pid')))
    asking.child.kill('SIGINT')
    expect(await asking.ended).toMatchObject({
      code: 130,
      err: expect.stringContaining('Cancelled: the turn of bob is ending.'),
    })
    await gone(pid)
    await expect
      .poll(async () => (await bob.json<Runs>('runs')).runs[0]!.state, { timeout: 30_000 })
      .not.toMatch(/working|waiting/)
  }
})

test('ALP-PEND-01 a stranger gets silence, is listed with its digits, and is let in by hand', async () => {
  const { mira, bob } = await two()
  const silent = await mira.parley('ask', 'bob', 'x')
  expect(silent).toMatchObject({ code: 4, out: '', err: expect.stringContaining('not pinned your key') })
  const { pending } = await bob.json<{ pending: PendingView[] }>('peers', 'pending')
  const { pubkey, spoken } = await mira.identity()
  expect(pending).toMatchObject([{ pubkey, spoken }])
  const { peer } = await bob.json<{ peer: PeerView }>('peers', 'accept', pubkey.slice(0, 8), '--id', 'mira')
  expect(peer).toMatchObject({ id: 'mira', pubkey, allow: ['link.ping', 'link.ask'] })
  expect((await mira.parley('ask', 'bob', 'Now: x')).out).toBe('bob heard: Now: x\n')
  expect((await bob.parley('peers', 'pending')).out).toBe('No stranger has called.\n')
})

test('what bob takes back, mira is told: first that it is not allowed, then nothing, then that bob is gone', async () => {
  const { mira, bob } = await pair()
  await bob.parley('peers', 'allow', 'mira', 'link.ping')
  expect(await mira.parley('ask', 'bob', 'x')).toMatchObject({
    code: 5,
    err: expect.stringContaining('(link.ask)'),
  })
  await bob.parley('peers', 'remove', 'mira')
  expect(await mira.parley('ping', 'bob')).toMatchObject({
    code: 4,
    err: expect.stringContaining('without an answer'),
  })
  await bob.parley('down')
  await bob.node!.ended
  expect(await mira.parley('ping', 'bob')).toMatchObject({
    code: 4,
    err: expect.stringContaining('bob is offline'),
  })
})

test('ALP-ID-05 a new key cuts everybody off until they paste the new line', async () => {
  const { mira, bob } = await pair()
  expect(await bob.parley('id', 'rotate')).toMatchObject({ code: 5, err: expect.stringContaining('--yes') })
  const rotated = await bob.parley('id', 'rotate', '--yes')
  expect(rotated).toMatchObject({ code: 0, out: expect.stringContaining('Send this line to mira.') })
  expect(await mira.parley('ping', 'bob')).toMatchObject({
    code: 4,
    err: expect.stringContaining('does not match the pinned key'),
  })
  expect((await bob.parley('ping', 'mira')).code).toBe(4)
  await mira.parley('peers', 'remove', 'bob')
  await mira.pastes(bob)
  expect((await mira.parley('ping', 'bob')).code).toBe(0)
  expect((await bob.parley('ping', 'mira')).code).toBe(0)
})
