// Who may speak for a profile, with real processes: a key that is lost, impostors on the same machine, and agents that act as the person.
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeEach, expect, test } from 'vitest'
import { forgetCompiled, gone, World } from './world.ts'

let world: World
beforeEach(() => {
  world = new World()
})
afterEach(() => world.close())
afterAll(forgetCompiled)

async function down(): Promise<void> {
  const pid = world.nodePid
  await world.parley('down')
  if (pid !== undefined) await gone(pid)
}

test('a key that is gone keeps the node from starting: the command and doctor say so, and the right key mends it', async () => {
  const { pubkey } = await world.json<{ pubkey: string }>('id')
  await down()
  const key = join(world.home, 'default', 'alp', 'secrets', 'alp_key.pem')
  renameSync(key, `${key}.away`)
  const refused = await world.parley('runs', '--json')
  expect(refused).toMatchObject({ code: 5, out: '' })
  expect(JSON.parse(refused.err)).toMatchObject({
    error: { code: 'key_missing', message: expect.stringContaining('from the same backup') },
  })
  const doctor = await world.parley('doctor')
  expect(doctor.code).toBe(1)
  expect(doctor.out).toMatch(/problem +key .*key_missing/)
  writeFileSync(key, readFileSync(`${key}.away`), { mode: 0o600 })
  rmSync(`${key}.away`)
  expect(await world.json<{ pubkey: string }>('id')).toMatchObject({ pubkey })
})
