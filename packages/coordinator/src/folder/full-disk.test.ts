// Real disks that are full, read-only or out of files: what is found by looking at them, and that nothing which a git
// program left half done stands in the way of the next try.
import { execFileSync } from 'node:child_process'
import { closeSync, existsSync, mkdirSync, openSync, rmSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { unwrap } from '@parley/core'
import { expect, onTestFinished, test } from 'vitest'
import { probeMachine } from '../machine/probe.ts'
import { Fixture, planned } from '../testing/fixture.ts'
import { RunFolders } from './run-folders.ts'
import {
  captured,
  commitAll,
  prepared,
  RUN,
  someFiles,
  temporaryFolder,
  userGit,
  write,
  ws,
} from './testing/project.ts'

/** A disk of the test's own; undefined where nobody may mount one, and then the test is skipped. */
function disk(options: string): string | undefined {
  const folder = join(temporaryFolder(), 'disk')
  mkdirSync(folder)
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', folder], { stdio: 'ignore' })
  } catch {
    return undefined
  }
  onTestFinished(() => void execFileSync('umount', ['--lazy', folder]))
  return folder
}

/** Every byte that is left. */
function fill(folder: string): () => void {
  const file = join(folder, 'filler')
  const handle = openSync(file, 'w')
  for (let size = 1 << 20; size >= 1; size >>= 1) {
    try {
      while (writeSync(handle, Buffer.alloc(size, 1)) === size);
    } catch {
      // Full for pieces of this size.
    }
  }
  closeSync(handle)
  return () => rmSync(file)
}

test('a full, a read-only and a disk without files left are told by looking; one with room is sound', async context => {
  const folder = disk('size=4m,nr_inodes=40')
  if (!folder) return context.skip()
  expect(await probeMachine(undefined, [folder, join(folder, 'gone', 'since')])).toBeUndefined()
  const free = fill(folder)
  expect(await probeMachine(undefined, ['/', folder])).toEqual({ code: 'ENOSPC', where: folder })
  free()
  expect(await probeMachine(undefined, [folder])).toBeUndefined()
  const names = Array.from({ length: 40 }, (_, number) => join(folder, String(number)))
  const made = names.filter(name => {
    try {
      writeFileSync(name, '')
      return true
    } catch {
      return false
    }
  })
  const out = { code: 'ENOSPC', where: folder, inodes: true }
  expect(await probeMachine(undefined, [folder])).toEqual(out)
  // What the end of a turn gives back is no room for the next one.
  rmSync(made.pop()!)
  expect(await probeMachine(undefined, [folder])).toEqual(out)
  for (const name of made) rmSync(name)
  execFileSync('mount', ['-o', 'remount,ro', folder])
  expect(await probeMachine(undefined, [folder])).toEqual({ code: 'EROFS', where: folder })
  execFileSync('mount', ['-o', 'remount,rw', folder])
  expect(await probeMachine(undefined, [folder])).toBeUndefined()
})

test('a capture and a merge that met a full disk succeed when there is room, and come to the same', async context => {
  const folder = disk('size=8m')
  if (!folder) return context.skip()
  const project = join(folder, 'project')
  mkdirSync(project)
  userGit(project, 'init', '--quiet', '--initial-branch=main')
  write(project, someFiles)
  commitAll(project, 'start')
  const folders = unwrap(await RunFolders.create({ project, home: join(folder, 'home'), run: RUN }))
  expect(folders.disks).toEqual([join(folder, 'home'), join(project, '.git')])
  const place = await prepared(folders)
  write(place, { 'new.txt': 'x'.repeat(20_000), 'src/main.ts': 'export const one = 1\n' })
  const options = { parent: await folders.head(), message: 'work\n', author: 'worker' }

  let free = fill(folder)
  const failed = await folders.capture(ws('one'), options)
  expect(failed.ok).toBe(false)
  expect(await probeMachine(undefined, folders.disks)).toMatchObject({ code: 'ENOSPC' })
  free()
  const { commit, changed } = unwrap(await folders.capture(ws('one'), options))
  expect(changed.map(({ path }) => path).toSorted()).toEqual(['new.txt', 'src/main.ts'])
  expect((await captured(folders, 'one', { parent: options.parent })).commit).not.toBe(options.parent)

  free = fill(folder)
  const before = await folders.head()
  expect((await folders.integrate(commit, { message: 'merge' })).ok).toBe(false)
  expect((await folders.prepare(ws('two'), commit)).ok).toBe(false)
  free()
  expect(await folders.head()).toBe(before)
  expect(unwrap(await folders.integrate(commit, { message: 'merge' }))).toMatchObject({ merged: true })
  unwrap(await folders.prepare(ws('two'), commit))
  const { branch } = unwrap(await folders.finish())
  expect(userGit(project, 'show', `${branch}:src/main.ts`)).toBe('export const one = 1')
  userGit(project, 'fsck', '--strict')
})

test('a run on a project whose disk is full or read-only is refused as the machine’s fault, leaves nothing, and holds up nobody else', async context => {
  const folder = disk('size=8m')
  if (!folder) return context.skip()
  const project = join(folder, 'project')
  mkdirSync(project)
  userGit(project, 'init', '--quiet', '--initial-branch=main')
  write(project, someFiles)
  commitAll(project, 'start')
  const fixture = await Fixture.open({
    writer: async () => ({ outcome: 'complete', text: 'done', usage: {} }),
  })
  const refused = (words: string) => ({
    ok: false,
    error: { code: 'machine_fault', retryable: true, message: expect.stringContaining(words) },
  })
  const free = fill(folder)
  for (const _ of [1, 2]) expect(await fixture.trySolve(TEAM, { project })).toMatchObject(refused('the disk is full'))
  expect(existsSync(join(project, '.git', 'refs', 'parley'))).toBe(false)
  free()
  execFileSync('mount', ['-o', 'remount,ro', folder])
  expect(await fixture.trySolve(TEAM, { project })).toMatchObject(refused('the disk is read-only'))
  // One project that cannot be written is no reason to stop the work on others.
  expect(fixture.coordinator.held).toBeUndefined()
  execFileSync('mount', ['-o', 'remount,rw', folder])
  expect(existsSync(join(project, '.git', 'refs', 'parley'))).toBe(false)
  const { run } = unwrap(await fixture.trySolve(TEAM, { project }))
  expect(await fixture.over(run)).toMatchObject({ state: 'done' })
})

const TEAM = `${planned('{ id: a, title: A, agent: writer, prompt: x }')}description: d\n`

test('a process that has no files left says so, for what it opens and for the git programs that it starts', () => {
  const probe = new URL('../machine/probe.ts', import.meta.url).pathname
  const script = `
    const { openSync, closeSync } = await import('node:fs')
    const { probeMachine } = await import(${JSON.stringify(probe)})
    const { collect } = await import('@parley/agents')
    const after = (ms, run) => { const timer = setTimeout(run, ms); return () => clearTimeout(timer) }
    const limits = { timeoutMs: 10000, graceMs: 100, maxBytes: 1000, complaintBytes: 1000 }
    const program = { command: ['git', 'version'], cwd: '/', env: process.env, ...limits }
    const look = async () => [(await probeMachine({ code: 'EMFILE' }, ['/tmp']))?.code ?? 'sound', (await collect(program, { after })).end]
    const sound = await look()
    const open = []
    try { for (;;) open.push(openSync('/dev/null')) } catch {}
    const full = await look()
    for (const each of open) closeSync(each)
    console.log(JSON.stringify([sound, full, await look()]))`
  const limited = 'ulimit -n 256; exec "$0" "$@"'
  const args = [
    '--conditions=parley-source',
    '--disable-warning=ExperimentalWarning',
    '--input-type=module',
    '-e',
    script,
  ]
  const out = execFileSync('sh', ['-c', limited, process.execPath, ...args], { encoding: 'utf8' })
  expect(JSON.parse(out)).toEqual([
    ['sound', 'closed'],
    ['EMFILE', 'not_started'],
    ['sound', 'closed'],
  ])
})
