// How git is started: what it may see and run, and how it is bounded.
import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { SystemClock } from '@parley/core'
import { expect, onTestFinished, test } from 'vitest'
import { RunFolders } from '../run-folders.ts'
import { gitProject, RUN, refusal, temporaryFolder, userGit } from '../testing/project.ts'
import { git, requireGit, whileLocked } from './git.ts'

const clock = new SystemClock()

/** A program that stands in for git. */
function fakeGit(script: string): void {
  const folder = temporaryFolder()
  writeFileSync(join(folder, 'git'), `#!/bin/sh\n${script}\n`)
  chmodSync(join(folder, 'git'), 0o755)
  setPath(`${folder}${delimiter}${process.env.PATH}`)
}

function setPath(path: string): void {
  const before = process.env.PATH
  process.env.PATH = path
  onTestFinished(() => {
    process.env.PATH = before
  })
}

test('a missing git is told as such, and so is one that is too old', async () => {
  const cwd = temporaryFolder()
  const project = gitProject()
  const options = { project, home: join(cwd, 'home'), run: RUN }
  fakeGit('echo git version 2.37.9')
  expect(await RunFolders.create(options)).toMatchObject(refusal('git_too_old'))
  fakeGit('echo nonsense')
  await expect(requireGit(clock, cwd)).rejects.toMatchObject({ code: 'git_too_old' })
  for (const version of ['2.38.0', '2.50.1.windows.1', '3.0']) {
    fakeGit(`echo git version ${version}`)
    await requireGit(clock, cwd)
  }
  setPath(temporaryFolder())
  const missing = await RunFolders.create(options)
  expect(missing).toMatchObject(refusal('git_missing'))
  expect((missing as { error: Error }).error.message).toContain('Install git 2.38')
  await expect(git({ cwd: join(cwd, 'gone'), clock }, ['version'])).rejects.toMatchObject({
    code: 'git_failed',
  })
})

test('GIT_ variables of the environment do not reach it, and prompts are off', async () => {
  process.env.GIT_DIR = '/nowhere'
  process.env.GIT_WORK_TREE = '/nowhere'
  process.env.Git_Trace = '1'
  onTestFinished(() => {
    for (const name of ['GIT_DIR', 'GIT_WORK_TREE', 'Git_Trace']) delete process.env[name]
  })
  const project = gitProject()
  expect((await git({ cwd: project, clock }, ['rev-parse', '--show-toplevel'])).stdout.toString()).toBe(`${project}\n`)
  fakeGit('env')
  const seen = (await git({ cwd: project, clock }, ['env'])).stdout.toString()
  expect(seen).not.toMatch(/^git_(dir|trace)/im)
  expect(seen).toContain('GIT_TERMINAL_PROMPT=0')
  expect(seen).toContain('LC_ALL=C')
})

test('arguments are no shell text', async () => {
  const project = gitProject()
  await expect(git({ cwd: project, clock }, ['rev-parse', '--verify', '; touch hacked'])).rejects.toThrow()
  expect(userGit(project, 'status', '--porcelain')).toBe('')
})

test('it is ended when it takes too long, even if it does not want to', async () => {
  fakeGit('trap "" TERM; while :; do :; done')
  const timeoutMs = 50
  const started = performance.now()
  const place = { cwd: temporaryFolder(), clock }
  await expect(git(place, ['loop'], { timeoutMs })).rejects.toMatchObject({
    code: 'git_timeout',
    retryable: true,
  })
  expect(performance.now() - started).toBeLessThan(30_000)
})

test('its output is bounded: an error, or cut where that is asked for', async () => {
  fakeGit('while :; do echo 0123456789; done')
  const place = { cwd: temporaryFolder(), clock }
  await expect(git(place, ['flood'], { maxBytes: 1000 })).rejects.toMatchObject({ code: 'git_output' })
  const { stdout, cut } = await git(place, ['flood'], { maxBytes: 1000, cut: true })
  expect([stdout.length, cut]).toEqual([1000, true])
})

test('what it complains about is in the error', async () => {
  const failed = git({ cwd: temporaryFolder(), clock }, ['rev-parse', 'HEAD'])
  await expect(failed).rejects.toMatchObject({
    code: 'git_failed',
    message: expect.stringContaining('not a git repository'),
    details: { command: 'git rev-parse' },
  })
})

test('a lock of somebody else is waited for, and told if it stays', async () => {
  const project = gitProject()
  const lock = join(project, '.git/refs/x/y.lock')
  mkdirSync(join(project, '.git/refs/x'))
  writeFileSync(lock, '')
  const head = userGit(project, 'rev-parse', 'HEAD')
  const update = () => git({ cwd: project, clock }, ['update-ref', 'refs/x/y', head])
  await expect(update()).rejects.toMatchObject({
    code: 'repository_locked',
    retryable: true,
    details: { lock },
  })
  let attempts = 0
  await whileLocked(clock, () => {
    if (++attempts === 3) rmSync(lock)
    return update()
  })
  expect(attempts).toBe(3)
  expect(userGit(project, 'rev-parse', 'refs/x/y')).toBe(head)
})
