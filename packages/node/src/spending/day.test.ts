// A day of a real node under a daily cap: runs that are refused, turns that are, what a check does then, and what a
// crash leaves.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { INTERACTIVE, SystemClock, unwrap } from '@parley/core'
import { linkPaths, openLedger } from '@parley/link'
import { describe, expect, onTestFinished, test } from 'vitest'
import { connectNode } from '../client.ts'
import { readNodeFile } from '../reach/node-file.ts'
import { refusal } from '../testing/calls.ts'
import { type Ground, ground } from '../testing/ground.ts'
import { project, realNode } from '../testing/real.ts'

const spends = (usd: number) => `echo '{"type":"usage","usd":${usd},"tokens_in":100,"tokens_out":20}'; echo x >> b.txt`
const agent = (script: string) => `{ command: [sh, -c, ${JSON.stringify(script)}], output: json-lines }`
const team = (agents: Readonly<Record<string, string>>, plan = '') =>
  `version: 1\nname: t\napproval: none\nagents:\n${Object.entries(agents)
    .map(([name, script]) => `  ${name}: ${agent(script)}\n`)
    .join('')}${plan}`

const ledgerFile = (place: Ground) => JSON.parse(readFileSync(linkPaths(place.path('default')).ledger, 'utf8'))

async function capped(usd: number) {
  const place = ground()
  place.write('default/config.yaml', `budget: { daily_usd: ${usd} }\n`)
  return { place, ...(await realNode(place)) }
}

describe('ALP-BUD-01 a node with a daily cap', () => {
  test('takes runs until it is reached, refuses the next with what to do, and goes on when it is raised', async () => {
    const { place, client, start, ended } = await capped(1)
    expect(await client.call('budget', 'today', {})).toMatchObject({ cap: 1, used_usd: 0, by: [] })
    const one = team({ a: spends(0.75) })
    expect((await ended(await start(one, undefined, 'One.'))).state).toBe('done')
    expect((await ended(await start(one, undefined, 'Two.'))).state).toBe('done')
    expect(await client.call('budget', 'today', {})).toMatchObject({
      cap: 1,
      used_usd: 1.5,
      used_tokens: 240,
      reserved_usd: 0,
      by: [{ name: INTERACTIVE, usd: 1.5, tokens: 240 }],
    })
    const refused = await refusal(start(one, undefined, 'Three.'))
    expect(refused).toMatchObject({ code: 'budget_exceeded', details: { cap: 1, used: 1.5 } })
    expect(refused.message).toContain('raise budget.daily_usd (a change of config.yaml applies at once')
    expect((await client.call('runs', 'list', {})).runs).toHaveLength(2)
    place.write('default/config.yaml', 'budget: { daily_usd: 5 }\n')
    expect((await ended(await start(one, undefined, 'Three.'))).state).toBe('done')
    expect(ledgerFile(place)).toMatchObject({ profile: { usd: 2.25, tokens: 360 } })
  })

  test('ALP-BUD-03 refuses the turns of a run at work too, once, and not in each of its attempts', async () => {
    const { start, ended } = await capped(1)
    const plan = `plan:
  - { id: one, agent: a, prompt: x }
  - { id: two, agent: a, prompt: x, needs: [one], attempts: 3 }
`
    const view = await ended(await start(team({ a: spends(1.5) }, plan)))
    expect(view.state).toBe('failed')
    expect(view.tasks.map(({ state, attempt }) => `${state} ${attempt}`)).toEqual(['done 1', 'failed 1'])
    expect(view.tasks[1]?.note).toMatch(/^Daily budget: \$1\.50 of \$1\.00 are used up\./)
  })

  test('lets a check judge what was paid for', async () => {
    const { start, ended } = await capped(1)
    const plan = 'plan:\n  - { id: one, agent: a, prompt: x, check: [sh, -c, "test -e b.txt"] }\n'
    expect((await ended(await start(team({ a: spends(1.5) }, plan)))).state).toBe('done')
  })

  test('of turns at the same time, takes as many as there is money for, and the others after them', async () => {
    const { start, ended, client } = await capped(1)
    const plan = ['a', 'b', 'c'].map(id => `  - { id: ${id}, agent: ${id}, prompt: x }\n`).join('')
    const each = (name: string) => `echo '{"type":"usage","usd":0.25}'; echo x > ${name}.txt`
    const agents = { a: each('a'), b: each('b'), c: each('c') }
    expect((await ended(await start(team(agents, `plan:\n${plan}`)))).state).toBe('done')
    expect(await client.call('budget', 'today', {})).toMatchObject({ used_usd: 0.75, reserved_usd: 0 })
  })
})

test('ALP-BUD-01 without a cap nothing is refused, and everything is counted', async () => {
  const place = ground()
  const { start, ended, client } = await realNode(place)
  expect((await ended(await start(team({ a: spends(100) })))).state).toBe('done')
  expect((await ended(await start(team({ a: 'echo done' })))).state).toBe('done')
  expect(await client.call('budget', 'today', {})).toMatchObject({ cap: null, used_usd: 100 })
})

test('ALP-BUD-01 what a node had set aside when it died is spent for the next one, where there is a cap', async () => {
  const place = ground()
  place.write('default/config.yaml', 'budget: { daily_usd: 3 }\n')
  const { ledger } = linkPaths(place.path('default'))
  const dead = openLedger(ledger, { clock: new SystemClock(), cap: () => 3 })
  expect(dead.reserve(INTERACTIVE).ok && dead.reserve(INTERACTIVE, { usd: 0.5 }).ok).toBe(true)
  expect(existsSync(ledger)).toBe(true)
  const { client } = await realNode(place)
  expect(await client.call('budget', 'today', {})).toMatchObject({ used_usd: 1.5, reserved_usd: 0 })
})

test('ALP-BUD-01 a node that is killed in the middle of a turn leaves nothing set aside, and no room that was not there', async () => {
  const place = ground()
  place.write('default/config.yaml', 'budget: { daily_usd: 3 }\n')
  const options = { env: place.env, home: place.home, start: true, maxAttempts: 1 } as const
  const mark = join(place.home, 'begun')
  const script = `if [ -e ${mark} ]; then ${spends(0.25)}; else touch ${mark}; sleep 600; fi`
  const first = unwrap(await connectNode(options))
  const { run } = await first.client.call('solve', 'start', {
    intent: 'A thing.',
    project: project(place),
    approved: true,
    team: { text: team({ a: script }), file: join(place.home, 'parley.yaml') },
  })
  await expect.poll(() => existsSync(mark), { timeout: 20_000 }).toBe(true)
  expect(await first.client.call('budget', 'today', {})).toMatchObject({ used_usd: 0, reserved_usd: 1 })
  process.kill(readNodeFile(first.paths.nodeFile)!.pid, 'SIGKILL')
  first.client.close()
  const next = unwrap(await connectNode(options))
  onTestFinished(() => next.client.close())
  let state = ''
  for await (const view of next.client.subscribe('runs', 'follow', { run })) state = view.state
  expect(state).toBe('done')
  expect(await next.client.call('budget', 'today', {})).toMatchObject({
    used_usd: 1.25,
    reserved_usd: 0,
    by: [{ name: INTERACTIVE, usd: 1.25 }],
  })
})
