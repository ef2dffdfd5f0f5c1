// What a folder has beside the files of its commit: ignored files that are carried there, and what setup made.
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { unwrap } from '@parley/core'
import { describe, expect, test } from 'vitest'
import {
  captured,
  commitAll,
  createFolders,
  gitProject,
  plainProject,
  refusal,
  userGit,
  write,
  ws,
} from './testing/project.ts'

const IGNORE = '.env*\n*.local\ncache/\nnode_modules/\n'
const files = { '.gitignore': IGNORE, 'readme.md': 'one\n', 'lock.json': '{}\n', 'app/main.ts': 'main\n' }

const read = (...path: string[]) => readFileSync(join(...path), 'utf8')

/** A project with ignored files, and what a workspace gets of them. */
async function carrying(carry: string[], make = gitProject) {
  const project = make(files)
  write(project, {
    '.env': 'SECRET=1\n',
    'app/.env': 'SECRET=2\n',
    'app/x.local': 'x\n',
    'cache/deep/a': 'a\n',
    'cache/.env': 'SECRET=3\n',
    'new.txt': 'neither tracked nor ignored\n',
  })
  symlinkSync('deep/a', join(project, 'cache/inside'))
  symlinkSync(join(project, '.env'), join(project, 'cache/outside'))
  const { folders } = await createFolders(project)
  const prepare = async () => unwrap(await folders.prepare(ws('one'), await folders.head(), { carry }))
  return { project, folders, prepare, folder: await prepare() }
}

describe('carry', () => {
  test.each([
    { make: gitProject, kind: 'a repository' },
    { make: plainProject, kind: 'any other folder' },
  ])('copies what is ignored and named, and nothing else, from $kind', async ({ make }) => {
    const { folder, folders } = await carrying(['**', 'cache/.env', 'readme.md'], make)
    expect(read(folder, 'app/x.local')).toBe('x\n')
    expect(read(folder, 'cache/inside')).toBe('a\n')
    expect(read(folder, 'cache/.env')).toBe('SECRET=3\n')
    // Named by no glob that ends in its name; neither ignored nor committed; a link to the user's own files.
    for (const each of ['.env', 'app/.env', 'cache/outside', ...(make === gitProject ? ['new.txt'] : [])])
      expect(existsSync(join(folder, each)), each).toBe(false)
    expect(unwrap(await folders.uncarried(['.env.test', 'cache/**', 'readme.md', '**/.env']))).toEqual([
      '.env.test',
      'readme.md',
    ])
  })

  test('gives copies: what an agent writes never reaches the file of the user', async () => {
    const { project, folder, prepare } = await carrying(['.env', 'cache/**'])
    expect(lstatSync(join(folder, '.env')).ino).not.toBe(lstatSync(join(project, '.env')).ino)
    linkSync(join(project, 'cache/deep/a'), join(project, 'cache/hard'))
    await prepare()
    writeFileSync(join(folder, '.env'), 'mine')
    writeFileSync(join(folder, 'cache/hard'), 'mine')
    expect([read(project, '.env'), read(project, 'cache/deep/a')]).toEqual(['SECRET=1\n', 'a\n'])
    // Made anew, the folder has the user's files as they are now.
    write(project, { '.env': 'SECRET=new\n' })
    expect(read(await prepare(), '.env')).toBe('SECRET=new\n')
  })

  test.each(['stops ignoring it', 'never had it ignored'])('is none of the work, even if the agent %s', async how => {
    const { project, folder, folders } = await carrying(['.env', 'cache/**'])
    if (how === 'never had it ignored') {
      // It is ignored by a line that nobody has committed.
      write(folder, { '.gitignore': '' })
      unwrap(await folders.keepSetup(ws('one'), await folders.head(), 'npm ci'))
      const all = userGit(project, 'log', '--all', '--format=', '--name-only')
      expect(all.split('\n')).toEqual(expect.not.arrayContaining(['.env', 'cache/deep/a']))
    }
    write(folder, { '.gitignore': '', 'readme.md': 'two\n', 'cache/new': 'mine' })
    const { changed, refused, commit } = await captured(folders)
    expect(changed.map(({ path }) => path)).toEqual(expect.arrayContaining(['cache/new', 'readme.md']))
    expect(refused).toEqual([])
    expect(userGit(folders.facts.path, 'ls-tree', '-r', '--name-only', commit)).not.toContain('.env')
    expect(read(folder, '.env')).toBe('SECRET=1\n')
  })

  test('writes through no link of the commit', async () => {
    const project = gitProject(files)
    const elsewhere = join(project, '..', 'elsewhere')
    write(elsewhere, { keep: '' })
    rmSync(join(project, 'app'), { recursive: true })
    symlinkSync(elsewhere, join(project, 'app'))
    const linked = commitAll(project, 'a link')
    rmSync(join(project, 'app'))
    write(project, { 'app/x.local': 'x' })
    const { folders } = await createFolders(project)
    unwrap(await folders.prepare(ws('one'), linked, { carry: ['app/**'] }))
    expect(existsSync(join(elsewhere, 'x.local'))).toBe(false)
  })

  test('refuses more than a folder may have', async () => {
    const project = gitProject(files)
    write(project, Object.fromEntries(Array.from({ length: 50_001 }, (_, each) => [`cache/${each}`, ''])))
    const { folders } = await createFolders(project)
    const prepared = await folders.prepare(ws('one'), await folders.head(), { carry: ['cache/**'] })
    expect(prepared).toMatchObject(refusal('carry_too_large'))
  })
})

describe('setup', () => {
  /** A folder in which a setup has made ignored and other files. */
  async function setUp() {
    const { folders } = await createFolders(gitProject(files))
    const base = await folders.head()
    const prepare = async (commit: string, setup = 'npm ci') =>
      unwrap(await folders.prepare(ws('one'), commit, { setup }))
    const folder = await prepare(base)
    write(folder, {
      'node_modules/dep/index.js': 'dep',
      'lock.json': '{"peer":1}\n',
      'gen/api.ts': 'api\n',
      '.venv/x': '',
    })
    write(folder, { '.venv/.gitignore': '*\n' })
    rmSync(join(folder, 'app/main.ts'))
    expect(await folders.isSetUp(ws('one'), 'npm ci')).toBe(false)
    unwrap(await folders.keepSetup(ws('one'), base, 'npm ci'))
    return { folders, base, folder, prepare }
  }
  const paths = ({ changed }: { changed: readonly { path: string }[] }) => changed.map(({ path }) => path).sort()

  test('what it changed is the baseline: the work is what came after it', async () => {
    const { folders, folder, base } = await setUp()
    expect(await captured(folders)).toMatchObject({ commit: base, changed: [], refused: [] })
    write(folder, { 'readme.md': 'two\n', 'gen/mine.ts': 'mine\n', '.gitignore': '' })
    const work = await captured(folders)
    expect(paths(work)).toEqual(['.gitignore', 'gen/mine.ts', 'readme.md'])
    expect(work.refused).toEqual([{ path: 'node_modules/dep/index.js', kind: 'added', reason: 'furnished' }])
    expect(userGit(folders.facts.path, 'show', `${work.commit}:app/main.ts`)).toBe('main')
  })

  test('a file that the agent changed as well is the work of the agent, and what it may not change is put back to the baseline', async () => {
    const { folders, folder } = await setUp()
    write(folder, { 'lock.json': '{"peer":1,"more":2}\n', 'gen/api.ts': 'broken\n', 'app/main.ts': 'main, again\n' })
    const work = await captured(folders, 'one', { paths: ['lock.json', 'app/**'] })
    expect(paths(work)).toEqual(['app/main.ts', 'lock.json'])
    expect(work.refused).toEqual([{ path: 'gen/api.ts', kind: 'changed', reason: 'outside' }])
    expect(read(folder, 'gen/api.ts')).toBe('api\n')
  })

  test('what it made survives when the folder is made anew at a checkpoint; what the agent left besides does not', async () => {
    const { folders, folder, prepare } = await setUp()
    write(folder, { 'readme.md': 'two\n', 'lock.json': '{"agent":1}\n' })
    const { commit } = await captured(folders)
    write(folder, { 'readme.md': 'lost\n', 'cache/left': 'by the agent', 'gen/lost.ts': '' })
    expect(await prepare(commit)).toBe(folder)
    expect(await folders.isSetUp(ws('one'), 'npm ci')).toBe(true)
    expect(read(folder, 'node_modules/dep/index.js')).toBe('dep')
    expect([read(folder, 'readme.md'), read(folder, 'lock.json'), read(folder, 'gen/api.ts')]).toEqual([
      'two\n',
      '{"agent":1}\n',
      'api\n',
    ])
    for (const gone of ['app/main.ts', 'cache/left', 'gen/lost.ts'])
      expect(existsSync(join(folder, gone)), gone).toBe(false)
    expect(existsSync(join(folder, '.venv/x'))).toBe(true)
    expect((await captured(folders)).commit).toBe(commit)
  })

  test.each([
    ['another setup', 'npm install', () => {}],
    [
      'one whose output is gone',
      'npm ci',
      (folder: string) => rmSync(join(folder, 'node_modules'), { recursive: true }),
    ],
    [
      'one behind a link',
      'npm ci',
      (folder: string) => {
        renameSync(join(folder, 'node_modules'), join(folder, '..', 'moved'))
        symlinkSync(join(folder, '..', 'moved'), join(folder, 'node_modules'))
      },
    ],
  ])('%s begins with the files of the commit alone', async (_, setup, change) => {
    const { folders, folder, base, prepare } = await setUp()
    change(folder)
    await prepare(base, setup)
    expect(await folders.isSetUp(ws('one'), setup)).toBe(false)
    expect(existsSync(join(folder, 'gen'))).toBe(false)
    expect(read(folder, 'app/main.ts')).toBe('main\n')
  })

  test('nothing of it is left when the run is over', async () => {
    const { folders, folder } = await setUp()
    chmodSync(join(folder, 'node_modules/dep'), 0o500)
    unwrap(await folders.finish())
    await folders.clean()
    expect(existsSync(join(folder, '..', '..', 'furnished'))).toBe(false)
    expect(userGit(folders.facts.path, 'for-each-ref', 'refs/parley')).toBe('')
  })
})

test('in a folder without git, too, files with names for secrets come along only where they are named', async () => {
  const project = plainProject({ 'readme.md': 'one\n', '.env': 'A=1\n', 'app/.env.local': 'B=2\n', '.envrc': 'C=3\n' })
  const { folders } = await createFolders(project)
  const head = await folders.head()
  const bare = unwrap(await folders.prepare(ws('one'), head, { carry: ['**'] }))
  expect(['readme.md', '.env', 'app/.env.local', '.envrc'].map(name => existsSync(join(bare, name)))).toEqual([
    true,
    false,
    false,
    false,
  ])
  const named = unwrap(await folders.prepare(ws('two'), head, { carry: ['.env'] }))
  expect(read(named, '.env')).toBe('A=1\n')
  expect(existsSync(join(named, '.envrc'))).toBe(false)
  expect((await captured(folders, 'two')).changed).toEqual([])
})
