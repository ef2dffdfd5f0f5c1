// Who may read what Parley makes, whatever umask it was started with: everything in the profile is for its owner alone.
import { lstatSync, readdirSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { teamFile } from '../testing/team.ts'
import { World } from '../testing/world.ts'

/** Meant for others to read. */
const PUBLIC = 'alp/secrets/alp_key.pub'

/**
 * Files of the project in the folders of a run, and what git keeps for them, have the modes that the user's umask
 * gives, as in the project itself. Nobody else gets there: the folders above are closed.
 */
const PROJECT = /^runs\/[^/]+\/(work|repositories|new|index|result|git|contents)[^/]*\/./

function modesOf(profile: string): { readonly wrong: string[]; readonly looked: number } {
  const wrong: string[] = []
  let looked = 0
  const walk = (path: string) => {
    const name = relative(profile, path)
    if (PROJECT.test(name)) return
    const found = lstatSync(path)
    const mode = found.mode & 0o777
    const meant = found.isDirectory() || name.startsWith('bin/') ? 0o700 : name === PUBLIC ? 0o644 : 0o600
    looked++
    if (mode !== meant) wrong.push(`${name} ${mode.toString(8)}`)
    if (found.isDirectory()) for (const each of readdirSync(path)) walk(join(path, each))
  }
  walk(profile)
  return { wrong, looked }
}

async function underUmask(umask: string): Promise<void> {
  const world = new World()
  onTestFinished(() => world.close())
  world.team(teamFile({ writer: 'umask > umask.txt' }, ['{ id: one, agent: writer, prompt: x }']))
  const under = (...args: string[]) =>
    world.start(['-c', `umask ${umask}; exec parley ${args.join(' ')}`], { program: 'sh' }).ended
  expect(await under('solve', 'x', '--yes')).toMatchObject({ code: 0 })
  expect(await under('token', 'create', '--user', 'ci')).toMatchObject({ code: 0 })
  if (process.env.PARLEY_SOAK) expect(await under('trail', 'compact')).toMatchObject({ code: 0 })
  expect(await under('trail', 'export', 'last', '--output', 'run.parley')).toMatchObject({ code: 0 })
  const { wrong, looked } = modesOf(join(world.home, 'default'))
  expect(wrong).toEqual([])
  expect(looked).toBeGreaterThan(20)
  expect(statSync(join(world.project, 'run.parley')).mode & 0o777).toBe(0o600)
  // Agents have the user's umask, but for rights of the owner: nobody could work without them.
  const branch = world.git('for-each-ref', '--format=%(refname)', 'refs/heads/parley')
  expect(Number.parseInt(world.git('show', `${branch}:umask.txt`), 8)).toBe(Number.parseInt(umask, 8) & 0o077)
}

test('under any umask every file of a profile has its mode, and so has an export', async () => {
  await Promise.all(['000', '0277'].map(underUmask))
})
