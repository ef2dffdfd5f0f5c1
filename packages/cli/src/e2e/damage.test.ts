// A byte of the newest run changed on the disk, with real processes: whoever lists runs, or asks for the last one, is
// told.
import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { RunSummaryView, TrailPage, VerifyView } from '../node/views.ts'
import { HOUSEWORK, teamFile } from '../testing/team.ts'
import { World } from '../testing/world.ts'

let world: World
beforeEach(() => {
  world = new World()
  world.team(teamFile(...HOUSEWORK))
})
afterEach(() => world.close())

const listed = async () => (await world.json<{ runs: RunSummaryView[] }>('runs')).runs

/** Changes the last byte of this text, while no node runs. */
async function damage(text: string): Promise<void> {
  await world.stop()
  const folder = join(world.home, 'default', 'trail')
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

test('a damaged run is listed, is the last one, and is told by verify; a type that there is not is refused', async () => {
  for (const intent of ['Tidy up', 'Tidy up again'])
    expect(await world.parley('solve', intent, '--yes')).toMatchObject({ code: 0 })
  const [newest, oldest] = (await listed()).map(({ run }) => run)
  const types = ['--type', 'checkpoint_created']
  const page = await world.json<TrailPage>('trail', 'query', newest!, ...types)
  expect(page.entries.map(({ event_type }) => event_type)).toContain('checkpoint_created')
  for (const command of ['query', 'follow'])
    expect(await world.parley('trail', command, newest!, '--type', 'checkpoint_creatd')).toMatchObject({
      code: 2,
      out: '',
      err: expect.stringContaining("Did you mean 'checkpoint_created'?"),
    })

  await damage(`"id":"${page.entries[0]!.id}`)
  expect((await listed()).map(({ run, state }) => [run, state])).toEqual([
    [newest, 'damaged'],
    [oldest, 'done'],
  ])
  const people = await world.parley('runs', '--state', 'damaged')
  expect(people.out).toMatch(/^run_\S+ +damaged/m)
  expect(people.err).toMatch(/`parley trail verify run_\S+` shows the damage/)
  expect(await world.json<VerifyView>('trail', 'verify', 'last')).toMatchObject({
    sound: false,
    runs: [{ run: newest }],
  })
  const refused = await world.parley('show', 'last', '--json')
  expect(refused).toMatchObject({ code: 5, out: '' })
  expect(JSON.parse(refused.err)).toMatchObject({
    error: { code: 'trail_damaged', details: { run: newest } },
  })
})

test('a record that was overwritten by an older copy of itself is no sound one', async () => {
  expect(await world.parley('solve', 'Tidy up', '--yes')).toMatchObject({ code: 0 })
  await world.stop()
  const profile = join(world.home, 'default')
  const copy = join(world.folder, 'copy')
  const filter = (path: string) => !path.endsWith('.sock')
  cpSync(profile, copy, { recursive: true, filter })
  expect(await world.parley('solve', 'Tidy up again', '--yes')).toMatchObject({ code: 0 })
  const [newest] = (await listed()).map(({ run }) => run)
  await world.stop()
  cpSync(copy, profile, { recursive: true, force: true, filter })
  expect(await listed()).toHaveLength(1)
  const { code, out } = await world.parley('doctor')
  expect(code).toBe(1)
  expect(out).toMatch(new RegExp(`^problem +record +does not know ${newest}`, 'm'))
})
