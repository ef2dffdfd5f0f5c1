// One byte of an old run changed on the disk, with everything real: the run is named by whoever verifies, the others go
// on, and the node can be stopped.
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { refusal } from './testing/calls.ts'
import { type Ground, ground } from './testing/ground.ts'
import { project, realNode, TEAM } from './testing/real.ts'

/** Changes the last byte of this text. */
function damage(place: Ground, text: string): void {
  const folder = place.path('default', 'trail')
  for (const name of readdirSync(folder).filter(each => each.endsWith('.seg'))) {
    const bytes = readFileSync(join(folder, name))
    const at = bytes.indexOf(text)
    if (at < 0) continue
    bytes[at + text.length - 1]! ^= 1
    writeFileSync(join(folder, name), bytes)
    return
  }
  throw new Error(`nothing on the trail has '${text}'`)
}

async function begun() {
  const place = ground()
  project(place)
  return { place, first: await realNode(place) }
}

test('a damaged run is listed as such and told by verify, and keeps nobody from the others', async () => {
  const { place, first } = await begun()
  const old = await first.solved('An old thing.')
  const other = await first.solved('Another thing.')
  const before = (await first.client.call('runs', 'list', {})).runs
  const [entry] = (await first.client.call('trail', 'query', { run: old, after: 4, limit: 1 })).entries
  await first.node.stop('enough')
  damage(place, `"id":"${entry!.id}`)
  const { client, node, solved } = await realNode(place)

  expect(await client.call('node', 'status', {})).toMatchObject({ runs: { working: 0, waiting: 0 } })
  const { runs } = await client.call('runs', 'list', {})
  expect(runs.map(({ run, state }) => `${run} ${state}`)).toEqual([`${other} done`, `${old} damaged`])
  expect(runs[1]).toMatchObject({ intent: '', started: before[1]!.started })
  expect((await client.call('runs', 'list', { states: ['damaged'] })).runs).toEqual([runs[1]])
  expect((await client.call('runs', 'list', { states: ['done'] })).runs).toEqual([runs[0]])
  expect(await client.call('runs', 'show', { run: other })).toMatchObject({ state: 'done' })
  expect((await refusal(client.call('runs', 'show', { run: old }))).code).toBe('trail_damaged')
  expect(await client.call('gates', 'list', {})).toEqual({ gates: [] })
  const all = await client.call('trail', 'verify', {})
  expect(all.sound).toBe(false)
  const one = await client.call('trail', 'verify', { run: old })
  expect(one).toMatchObject({ sound: false, runs: [{ run: old }] })
  expect(one.runs[0]!.findings.map(({ message }) => message).join()).toMatch(/entries \d+ to \d+ are missing/)
  const next = await solved('A new thing.')
  expect((await client.call('runs', 'list', {})).runs.map(({ run }) => run)).toEqual([next, other, old])
  await client.call('node', 'stop', {})
  expect(await node.stopped).toMatchObject({ hanging: [] })
})

test('the newest run is the last one although it is damaged, also where the index is made anew', async () => {
  const { place, first } = await begun()
  const old = await first.solved('An old thing.')
  const newest = await first.solved('A new thing.')
  const [entry] = (await first.client.call('trail', 'query', { run: newest, after: 4, limit: 1 })).entries
  await first.node.stop('enough')
  damage(place, `"id":"${entry!.id}`)
  for (const index of ['kept', 'made anew']) {
    if (index === 'made anew')
      for (const suffix of ['', '-wal', '-shm'])
        rmSync(place.path('default', `trail.index.db${suffix}`), { force: true })
    const { client, node } = await realNode(place)
    const unsound = { sound: false, runs: [{ run: newest }] }
    expect(await client.call('trail', 'verify', { run: 'last' }), index).toMatchObject(unsound)
    const damaged = { code: 'trail_damaged', message: expect.stringContaining(newest) }
    expect(await refusal(client.call('runs', 'show', { run: 'last' })), index).toMatchObject(damaged)
    const { runs } = await client.call('runs', 'list', {})
    const states = runs.map(({ run, state }) => `${run} ${state}`)
    expect(states, index).toEqual([`${newest} damaged`, `${old} done`])
    await node.stop('enough')
  }
})

test('where the book of runs itself is damaged, the node is there to verify, to read and to be stopped', async () => {
  const { place, first } = await begun()
  const run = await first.solved('A thing.')
  const { runs } = await first.client.call('trail', 'verify', {})
  const house = runs.find(each => each.run !== run)!.run
  const [entry] = (await first.client.call('trail', 'query', { run: house, limit: 1 })).entries
  await first.node.stop('enough')
  damage(place, `"id":"${entry!.id}`)
  const { client, node, log, start } = await realNode(place)

  expect(log.lines).toContainEqual(expect.objectContaining({ level: 'error', message: expect.stringContaining(house) }))
  expect(await client.call('node', 'status', {})).toMatchObject({ runs: { working: 0, waiting: 0 } })
  expect(await client.call('trail', 'verify', {})).toMatchObject({ sound: false })
  expect((await client.call('trail', 'query', { run })).entries.length).toBeGreaterThan(0)
  const damaged = { code: 'trail_damaged', message: expect.stringContaining(house) }
  for (const call of [start(TEAM), client.call('runs', 'list', {}), client.call('runs', 'show', { run })])
    expect(await refusal(call)).toMatchObject(damaged)
  await client.call('node', 'stop', {})
  expect(await node.stopped).toMatchObject({ hanging: [] })
})
