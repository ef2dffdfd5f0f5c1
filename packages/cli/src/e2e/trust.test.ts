// Who may speak for a profile, with real processes: a key that is lost, impostors on the same machine, and agents that
// act as the person.
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { GateView, RunView } from '../node/views.ts'
import { teamFile } from '../testing/team.ts'
import { World } from '../testing/world.ts'

let world: World
beforeEach(() => {
  world = new World()
})
afterEach(() => world.close())

test('a key that is gone keeps the node from starting: the command and doctor say so, and the right key mends it', async () => {
  const { pubkey } = await world.json<{ pubkey: string }>('id')
  await world.stop()
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

test('an agent that leaves its token away is still no person: it approves, aborts and changes nothing', async () => {
  world.write('waits.yaml', teamFile({ idle: 'true' }, ['{ id: one, agent: idle, prompt: x }']))
  const script = [
    'try() { "$@" >> said.txt 2>&1; echo "exit $?" >> said.txt; }',
    'env | grep -c "pws\\." > tokens.txt',
    'stat -c %a "$PARLEY_TOKEN_FILE" "$(dirname "$PARLEY_TOKEN_FILE")" > modes.txt',
    'try parley approve last',
    'try env -u PARLEY_TOKEN_FILE parley approve "$(cat "$HOME/waiting")"',
    'try env -u PARLEY_TOKEN_FILE -u PARLEY_TURN parley abort "$(cat "$HOME/waiting")"',
    'try env -i PATH="$PATH" HOME="$HOME" PARLEY_HOME="$PARLEY_HOME" parley users suspend root',
    'env -u PARLEY_TOKEN_FILE parley gates --json > gates.json',
  ]
  world.team(teamFile({ sly: script.join('\n') }, ['{ id: one, agent: sly, prompt: x, attempts: 1 }']))
  await world.up()
  const [waiting = ''] = (await world.parley('run', 'waits.yaml', '--detach')).out.split('\n')
  writeFileSync(join(world.folder, 'waiting'), waiting)
  expect(await world.parley('solve', 'Be sly', '--yes')).toMatchObject({ code: 0 })
  const { result, run } = await world.json<RunView>('show')
  const file = (name: string) => world.git('show', `${result!.branch}:${name}`)
  expect(file('tokens.txt')).toBe('0')
  expect(file('modes.txt')).toBe('600\n700')
  // With its token the node itself refuses; without it, the command does.
  expect(file('said.txt').match(/PARLEY_TOKEN_FILE is set/g)).toHaveLength(1)
  expect(file('said.txt').match(/Only a person may do this/g)).toHaveLength(3)
  expect(file('said.txt').match(/^exit 5$/gm)).toHaveLength(4)
  expect((JSON.parse(file('gates.json')) as { gates: GateView[] }).gates).toMatchObject([{ run: waiting }])
  expect(readdirSync(join(world.home, 'default', 'tokens'))).toEqual([])
  expect(run).not.toBe(waiting)
  // The person still can.
  expect((await world.parley('approve', waiting)).code).toBe(0)
})

test('a passphrase that is set is needed for every answer, is tried a few times, and lies in no file', async () => {
  world.team(teamFile({ idle: 'true' }, ['{ id: one, agent: idle, prompt: x }']))
  await world.up()
  const WORDS = 'correct horse battery'
  const typed = (input: string, ...args: readonly string[]) => world.start(args, { input }).ended
  const [run = ''] = (await world.parley('run', 'parley.yaml', '--detach')).out.split('\n')
  expect(await typed(`${WORDS}\n`, 'passphrase', '--stdin')).toMatchObject({ code: 0 })
  const bare = await world.parley('approve', run, '--json')
  expect(bare.code).toBe(5)
  expect(JSON.parse(bare.err)).toMatchObject({ error: { code: 'passphrase_required' } })
  const wrong = await typed('not this\n', 'approve', run, '--passphrase-stdin', '--json')
  expect(JSON.parse(wrong.err)).toMatchObject({ error: { code: 'passphrase_wrong' } })
  expect((await world.parley('passphrase', '--off')).code).toBe(5)
  expect(await typed(`${WORDS}\n`, 'approve', run, '--passphrase-stdin')).toMatchObject({ code: 0 })
  expect(statSync(join(world.home, 'default', 'config.yaml')).mode & 0o777).toBe(0o600)
  const files = readdirSync(world.home, { recursive: true, encoding: 'utf8' }).map(name => join(world.home, name))
  // The run goes on meanwhile: some of them are gone by now.
  for (const file of files.filter(each => statSync(each, { throwIfNoEntry: false })?.isFile()))
    if (existsSync(file)) expect(readFileSync(file).includes(WORDS), file).toBe(false)
})
