// How a run ends: a branch or a folder, repeatable, and nothing else left.
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { unwrap } from '@parley/core'
import { describe, expect, test } from 'vitest'
import { RunFolders } from './run-folders.ts'
import {
  captured,
  createFolders,
  type Files,
  gitProject,
  plainProject,
  prepared,
  RUN,
  traces,
  userGit,
  write,
  ws,
} from './testing/project.ts'

async function merge(folders: RunFolders, files: Files): Promise<string> {
  write(await prepared(folders), files)
  unwrap(await folders.integrate((await captured(folders)).commit, { message: 'm' }))
  return folders.head()
}

describe('a branch', () => {
  test('is made if anything was integrated, and only then', async () => {
    const project = gitProject()
    const { folders, home } = await createFolders(project)
    await prepared(folders)
    expect(unwrap(await folders.finish())).toEqual({ head: folders.facts.base })
    for (const place of ['work', 'repositories', 'new', 'index']) {
      expect(existsSync(join(home, place))).toBe(false)
    }
    const head = await merge(folders, { a: '1' })
    const branch = 'parley/stvwxyz0'
    expect(folders.facts.branchName).toBe(branch)
    expect(unwrap(await folders.finish())).toEqual({ head, branch })
    expect(unwrap(await folders.finish())).toEqual({ head, branch })
    expect(userGit(project, 'rev-parse', branch)).toBe(head)
    expect(userGit(project, 'symbolic-ref', 'HEAD')).toBe('refs/heads/main')
    expect(userGit(project, 'show', `${branch}:a`)).toBe('1')
  })

  test('moves on with the run, but never under a checkout or over work of the user', async () => {
    const project = gitProject()
    const { folders } = await createFolders(project)
    await merge(folders, { a: '1' })
    const { branch } = unwrap(await folders.finish())
    const second = await merge(folders, { a: '2' })
    expect(unwrap(await folders.finish())).toEqual({ head: second, branch })
    userGit(project, 'checkout', '--quiet', branch!)
    const third = await merge(folders, { a: '3' })
    expect(unwrap(await folders.finish())).toEqual({ head: third, branch: `${branch}-2` })
    expect(userGit(project, 'status', '--porcelain')).toBe('')
    userGit(project, 'commit', '--quiet', '--allow-empty', '-m', 'by the user')
    const mine = userGit(project, 'rev-parse', 'HEAD')
    userGit(project, 'checkout', '--quiet', 'main')
    expect(unwrap(await folders.finish())).toEqual({ head: third, branch: `${branch}-2` })
    expect(userGit(project, 'rev-parse', branch!)).toBe(mine)
  })

  test('gets another name where one is taken', async () => {
    const project = gitProject()
    userGit(project, 'branch', 'parley')
    const { folders } = await createFolders(project)
    expect(folders.facts.branchName).toBe('parley-stvwxyz0')
    userGit(project, 'branch', 'parley-stvwxyz0')
    const head = await merge(folders, { a: '1' })
    expect(unwrap(await folders.finish())).toEqual({ head, branch: 'parley-stvwxyz0-2' })
    const other = RUN.replace('01', '02') as typeof RUN
    expect((await createFolders(project, other)).folders.facts.branchName).toBe(`parley-${other}`)
  })

  test('is all that clean leaves, and finish and head tell the same as before', async () => {
    const project = gitProject()
    const { folders, home } = await createFolders(project)
    const head = await merge(folders, { a: '1' })
    const finished = unwrap(await folders.finish())
    await prepared(folders, 'late')
    mkdirSync(join(project, '.git/refs/parley', RUN, 'ws'), { recursive: true })
    writeFileSync(join(project, '.git/refs/parley', RUN, 'ws/x.lock'), '')
    await folders.clean()
    await folders.clean()
    expect(traces(project)).toEqual([])
    const again = unwrap(await RunFolders.open({ facts: folders.facts, home, run: RUN }))
    expect(await again.head()).toBe(head)
    expect(unwrap(await again.finish())).toEqual(finished)
    expect(await again.changes(folders.facts.base, head)).toHaveLength(1)
  })
})

test('names of refs lie beside each other: neither a folder of refs nor a ref in the way is one that cannot be read', async () => {
  const project = gitProject()
  const { folders } = await createFolders(project)
  await merge(folders, { a: '1' })
  const { branch } = unwrap(await folders.finish())
  expect(await folders.branch()).toBe(branch)
  // Where the second run looks for a branch `parley`, there is the folder of the first one's.
  const other = RUN.replace('01', '02') as typeof RUN
  expect((await createFolders(project, other)).folders.facts.branchName).toMatch(/^parley\//)
  userGit(project, 'branch', '--quiet', '-D', branch!)
  userGit(project, 'branch', 'parley')
  expect(await folders.branch()).toBeUndefined()
})

test('a result that cannot be read just now is not taken for one that is not there', async () => {
  const project = gitProject()
  const { folders, home } = await createFolders(project)
  const head = await merge(folders, { a: '1' })
  const ref = join(project, '.git/refs/parley', RUN, 'head')
  writeFileSync(ref, 'torn')
  expect(await folders.finish()).toMatchObject({ error: { code: 'git_failed' } })
  writeFileSync(ref, `${head}\n`)
  const finished = unwrap(await folders.finish())
  await folders.clean()
  const file = join(home, 'finished.json')
  renameSync(file, `${file}.aside`)
  symlinkSync(file, file)
  expect(await folders.finish()).toMatchObject({ error: { code: 'folder_failed' } })
  expect(await folders.finished()).toMatchObject({ error: { code: 'folder_failed' } })
  renameSync(`${file}.aside`, file)
  expect(unwrap(await folders.finish())).toEqual(finished)
  expect(unwrap(await folders.finished())).toEqual(finished)
})

describe('a result folder', () => {
  test('holds the project with everything integrated, and is made again only if that has changed', async () => {
    const { folders, home } = await createFolders(plainProject({ a: '1', b: '1' }))
    const head = await merge(folders, { a: '2' })
    const folder = join(home, 'result')
    expect(unwrap(await folders.finish())).toEqual({ head, folder })
    expect(readdirSync(folder).sort()).toEqual(['a', 'b'])
    expect(readFileSync(join(folder, 'a'), 'utf8')).toBe('2')
    write(folder, { mine: 'work of the user' })
    unwrap(await folders.finish())
    expect(readdirSync(folder)).toContain('mine')
    await folders.clean()
    expect(unwrap(await folders.finish())).toEqual({ head, folder })
    expect(await folders.head()).toBe(head)
    expect(readdirSync(folder)).toContain('mine')
  })

  test('of an earlier head is set aside, and one that is missing is made again', async () => {
    const { folders, home } = await createFolders(plainProject({ a: '1' }))
    const folder = join(home, 'result')
    const first = await merge(folders, { a: '2' })
    unwrap(await folders.finish())
    write(folder, { mine: '1' })
    await merge(folders, { a: '3' })
    unwrap(await folders.finish())
    expect(readFileSync(join(folder, 'a'), 'utf8')).toBe('3')
    expect(readdirSync(join(home, `result-${first.slice(0, 8)}`)).sort()).toEqual(['a', 'mine'])
    rmSync(folder, { recursive: true })
    unwrap(await folders.finish())
    expect(readFileSync(join(folder, 'a'), 'utf8')).toBe('3')
  })

  test('is not made where nothing has changed: it would be a copy of the project', async () => {
    const { folders, home } = await createFolders(plainProject({ a: '1' }))
    expect(unwrap(await folders.finish())).toEqual({ head: folders.facts.base })
    expect(readdirSync(home)).not.toContain('result')
  })
})

test('discard removes the folder and its repository, once or twice', async () => {
  const project = gitProject()
  const { folders, home } = await createFolders(project)
  await prepared(folders)
  await folders.discard(ws('one'))
  await folders.discard(ws('one'))
  for (const place of ['work', 'repositories', 'new', 'index']) {
    expect(readdirSync(join(home, place))).toEqual([])
  }
})
