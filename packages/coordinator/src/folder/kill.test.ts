// Kills: a process that prepares, captures and merges dies at any moment, alone or with its git programs. Whoever does
// the same again succeeds.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { SystemClock, unwrap } from '@parley/core'
import { describe, expect, test } from 'vitest'
import { RunFolders } from './run-folders.ts'
import { type DriverTask, perform } from './testing/driver.ts'
import {
  createFolders,
  gitProject,
  listing,
  picture,
  plainProject,
  RUN,
  someFiles,
  traces,
  userGit,
  ws,
} from './testing/project.ts'

const KILLS = process.env.PARLEY_SOAK ? 200 : 10
const DRIVER = fileURLToPath(new URL('./testing/driver.ts', import.meta.url))
const clock = new SystemClock()

/** Starts the driver and kills it some time after it is ready; resolves to what it reported, when it is dead. */
async function runAndKill(task: DriverTask, delay: number, whole: boolean): Promise<Map<number, string>> {
  const child = spawn(process.execPath, [...process.execArgv, DRIVER, JSON.stringify(task)], {
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  })
  const exited = once(child, 'exit')
  const done = new Map<number, string>()
  for await (const line of createInterface({ input: child.stdout })) {
    const [number, commit] = line.split(' ')
    if (commit !== undefined) done.set(Number(number), commit)
    if (line === 'ready') clock.after(delay, () => process.kill(whole ? -child.pid! : child.pid!, 'SIGKILL'))
  }
  await exited
  return done
}

/** A fixed sequence of numbers from 0 to 1. */
function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32
    return state / 2 ** 32
  }
}

describe.each([
  { kind: 'git', make: gitProject },
  { kind: 'copy', make: plainProject },
] as const)('a $kind project', ({ kind, make }) => {
  test(`${KILLS} kills at random moments: repeating succeeds, and every task is in the result once`, async () => {
    const random = seeded(7)
    const many = Object.fromEntries(Array.from({ length: 200 }, (_, number) => [`many/${number}.txt`, `${number}\n`]))
    const project = make({ ...someFiles, ...many, 'forbidden.txt': 'untouched' })
    const before = kind === 'git' ? picture(project) : listing(project)
    const { folders, home } = await createFolders(project)
    const commits = new Map<number, string>()
    let next = 0
    for (let round = 0; round < KILLS; round++) {
      const task = { facts: folders.facts, home, run: RUN, from: next, to: next + 50 }
      const done = await runAndKill(task, 20 + random() * 400, round % 2 === 0)
      for (const [number, commit] of done) commits.set(number, commit)
      next += done.size
      // The one that was under way is done again at once, by another process: this one.
      const again = unwrap(await RunFolders.open({ facts: folders.facts, home, run: RUN }))
      commits.set(next, await perform(again, next))
      const folder = join(home, 'work', ws(String(next)))
      expect(listing(folder).filter(line => line.startsWith('task-'))).toHaveLength(21)
      expect(listing(folder).filter(line => !line.startsWith('task-'))).toEqual(listing(project))
      expect(userGit(folder, 'rev-parse', 'HEAD')).toBe(folders.facts.base)
      next++
    }
    // Doing any of them again gives the very same commit, and changes nothing.
    const head = await folders.head()
    const some = Math.floor(random() * next)
    expect(await perform(folders, some)).toBe(commits.get(some))
    expect(await folders.head()).toBe(head)
    const changes = await folders.changes(folders.facts.base, head)
    expect(changes.filter(each => /^task-\d+\.txt$/.test(each.path))).toHaveLength(next)
    expect(changes).toHaveLength(next * 21)
    expect(changes.every(each => each.kind === 'added')).toBe(true)

    const finished = unwrap(await folders.finish())
    expect(unwrap(await folders.finish())).toEqual(finished)
    await folders.clean()
    expect(existsSync(join(home, 'work')) || existsSync(join(home, 'new'))).toBe(false)
    if (kind === 'git') {
      expect(traces(project)).toEqual([])
      userGit(project, 'fsck', '--strict', '--no-dangling')
      userGit(project, 'branch', '--quiet', '-D', finished.branch!)
      expect(picture(project)).toEqual(before)
    } else {
      expect(listing(project)).toEqual(before)
      expect(readdirSync(finished.folder!).filter(name => /^task-\d+\.txt$/.test(name))).toHaveLength(next)
    }
  }, 600_000)
})
