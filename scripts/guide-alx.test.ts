// What docs/guide/alx.md says is so: its configuration is that of a node, its programs and commands run as they stand
// and print what it claims, its tables are those of the settings and of the protocol.
import { execFile } from 'node:child_process'
import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { ERROR_CODES } from '@alx/protocol'
import { bundled } from '@parley/node/testing'
import { expect, onTestFinished, test } from 'vitest'
import { ALX_SETTINGS } from '../packages/node/src/config/alx-settings.ts'
import { ground, repository } from '../packages/node/src/testing/ground.ts'
import { FLAGS, folderWith, GuidePage, ROOT } from './guide-page.ts'

const guide = new GuidePage('alx')
const run = promisify(execFile)

/** A node with the configuration of the guide, its team, and what the guide's commands need to reach it. */
async function guided() {
  const place = ground()
  const [config, team] = guide.blocks('yaml')
  const project = join(place.home, 'api')
  place.write('../api/a.txt', 'a\n')
  repository(project)
  place.write('default/config.yaml', config!.replace('/srv/api', project).replace('on: true', 'on: true, port: 0'))
  place.write('default/team.yaml', team!)
  const cwd = folderWith({})
  const { parley } = await bundled()
  const bin = join(place.home, 'parley')
  writeFileSync(bin, `#!/bin/sh\nexec ${process.execPath} ${parley} "$@"\n`)
  chmodSync(bin, 0o755)
  const env = { ...place.env, PATH: `${place.home}:${process.env.PATH}` } as NodeJS.ProcessEnv
  const sh = async (text: string) => (await run('sh', ['-euc', text], { cwd, env, encoding: 'utf8' })).stdout
  onTestFinished(async () => void (await sh('parley down').catch(() => undefined)))
  const [start, curl, ...others] = guide.blocks('sh')
  await sh(start!.replace('--http', '--http 0'))
  const { http } = JSON.parse(await sh('parley --json')) as { readonly http: string }
  const token = readFileSync(join(cwd, 'token.txt'), 'utf8').trim()
  Object.assign(env, { ALX_URL: `${http}/alx`, ALX_TOKEN: token })
  return { place, project, cwd, env, sh, curl: curl!.replace('http://127.0.0.1:7424', http), others }
}

test('the commands and programs of the ALX guide run as they stand and print what it says', async () => {
  const { cwd, env, sh, curl, others } = await guided()
  const solved = JSON.parse(await sh(curl))
  expect(solved).toMatchObject({ ok: true, success: true, execution: { status: 'completed' } })
  expect(solved.steps).toHaveLength(2)
  const [sdk, python] = guide.blocks('text')
  writeFileSync(join(cwd, 'sdk.ts'), guide.blocks('ts')[0]!)
  expect((await run(process.execPath, [...FLAGS, 'sdk.ts'], { cwd, env, encoding: 'utf8' })).stdout).toBe(sdk)
  writeFileSync(join(cwd, 'solve.py'), guide.blocks('python')[0]!)
  expect((await run('python3', ['solve.py'], { cwd, env, encoding: 'utf8' })).stdout).toBe(python)
  const example = join(ROOT, 'examples', 'alx-client', 'solve.ts')
  const words = ['deploy', 'api', 'engineering']
  const told = await run(process.execPath, [...FLAGS, example, ...words], { cwd, env, encoding: 'utf8' })
  expect(told.stdout).toContain('run.completed')
  expect(told.stdout).toContain('The second is done.')
  expect(await sh(others[0]!)).toMatch(/parley_/)
  expect(await sh('parley sessions --json')).toContain('deploy api (engineering)')
}, 120_000)

test('a Knowledge Block goes from one Parley to another as the ALX guide says, and verifies without a node', async () => {
  const { cwd, sh, curl, others } = await guided()
  await sh(curl)
  const listed = JSON.parse(await sh('parley kb --json')) as { readonly blocks: readonly unknown[] }
  // What was made for a program is not its owner's to read.
  expect(listed.blocks).toEqual([])
  const envelope = {
    type: 'practice',
    domain: 'ops.backup',
    sources: [],
    tier: 'open',
    payload: { type: 'practice', rationale: 'Restore the backup monthly.', contexts: [], failureModes: [] },
  }
  const body = JSON.stringify(JSON.stringify({ envelope }))
  const made = await sh(`${curl.replace('/v1/solve', '/v1/kb').replace(/-d '.*'/s, `-d ${body}`)}`)
  const { kbHash } = JSON.parse(made) as { readonly kbHash: string }
  const [list, search, exported, verify, imported] = others[1]!.trim().split('\n')
  expect(await sh(list!)).toContain(kbHash.slice(0, 14))
  expect(await sh(search!)).toContain(kbHash.slice(0, 14))
  await sh(exported!.replace('0x9cccde9b', kbHash.slice(0, 10)))
  await sh('parley down')
  expect(await sh(verify!)).toContain('every hash and every source verifies')
  const file = join(cwd, 'backup.kb.json')
  writeFileSync(file, readFileSync(file, 'utf8').replace('monthly', 'yearly'))
  await expect(sh(verify!)).rejects.toMatchObject({ code: 1, stdout: expect.stringContaining('does not verify') })
  writeFileSync(file, readFileSync(file, 'utf8').replace('yearly', 'monthly'))
  expect(
    await sh(`PARLEY_PROFILE=other; export PARLEY_PROFILE; parley up --detach; ${imported}; parley down`),
  ).toContain(`${kbHash} registered`)
}, 120_000)

test('the ALX guide lists every setting of ALX with its default, and no error code that does not exist', () => {
  const rows = guide
    .rows('## Switch it on')
    .flatMap(([names, standard]) => names!.split(', ').map(name => [name, standard]))
  expect(rows.map(([name]) => name)).toEqual(Object.values(ALX_SETTINGS).map(({ key }) => key))
  for (const { key, fallback, show } of Object.values(ALX_SETTINGS)) {
    if (key === 'alx.chain_id' || key === 'alx.verifying_contract') continue
    expect([key, String(show(fallback as never) ?? 'none')]).toEqual([key, rows.find(([name]) => name === key)![1]])
  }
  const codes = guide.rows('## Errors').flatMap(([names]) => names!.split(', '))
  expect(codes.filter(code => !ERROR_CODES.some(each => each === code))).toEqual([])
})
