// A disk that is full for a while, in the middle of a run, with real processes: nothing is lost, nothing is done twice,
// nothing counts as failed, and everybody who looks is told.
import { execFileSync } from 'node:child_process'
import { closeSync, mkdirSync, openSync, readdirSync, rmSync, statfsSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { RunView, VerifyView } from '../node/views.ts'
import { teamFile } from '../testing/team.ts'
import { World } from '../testing/world.ts'

let world: World
beforeEach(() => {
  world = new World()
})
afterEach(async () => {
  await world.close()
})

/** Mounting a disk of one's own takes root; elsewhere the test is skipped, and vitest counts it. */
const mayMount = (() => {
  if (process.getuid?.() !== 0) return false
  const probe = new World()
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', probe.home], { stdio: 'ignore' })
    execFileSync('umount', [probe.home], { stdio: 'ignore' })
    return true
  } catch {
    return false
  } finally {
    rmSync(probe.folder, { recursive: true, force: true })
  }
})()

const TASKS = Array.from({ length: 10 }, (_, number) => `t${number}`)

/** Every byte that is left. */
function fill(file: string): void {
  const handle = openSync(file, 'w')
  try {
    for (let size = 1 << 20; size >= 1; size >>= 1) {
      const piece = Buffer.alloc(size, 1)
      try {
        for (;;) if (writeSync(handle, piece) < size) break
      } catch {
        // Full for pieces of this size.
      }
    }
  } finally {
    closeSync(handle)
  }
}

test.skipIf(!mayMount)(
  'a run whose disk is full for some seconds burns no attempt, says so, and is done by itself',
  async () => {
    world.mount('size=24m')
    // What they say is long enough for a file of its own beside the log: the record meets the full disk as well.
    const agents = {
      writer: 'sleep 0.1; printf "%s\\n" "$PARLEY_TASK" >> "$PARLEY_TASK.txt" && head -c 100000 /dev/zero | tr "\\0" x',
    }
    world.team(
      teamFile(
        agents,
        TASKS.map(id => `{ id: ${id}, title: Write ${id}, agent: writer, prompt: x }`),
      ),
    )
    const node = await world.up()
    const solving = world.start(['solve', 'Write them all', '--yes'])
    await solving.printed('done')
    const filler = join(world.home, 'filler')
    fill(filler)

    await solving.printed('Held up by the machine: the disk is full')
    const view = await world.json<RunView>('show')
    expect(view).toMatchObject({
      state: 'working',
      machine: { code: 'ENOSPC', where: expect.stringContaining(world.home) },
    })
    expect(await world.json('runs')).toMatchObject({ runs: [{ machine: { code: 'ENOSPC' } }] })
    expect(await world.json('inbox')).toMatchObject({ waiting: [], machine: { code: 'ENOSPC' } })
    expect(await world.parley('solve', 'More', '--yes', '--json')).toMatchObject({
      code: 7,
      err: expect.stringContaining('"code":"machine_fault"'),
    })
    const leaving = world.start(['show', '--follow'])
    await leaving.printed('Held up by the machine')
    leaving.child.kill('SIGINT')
    expect((await leaving.ended).code).toBe(7)

    rmSync(filler)
    const solved = await solving.ended
    expect(solved).toMatchObject({ code: 0, err: expect.stringContaining('The machine is sound again') })
    const done = await world.json<RunView>('show')
    expect(done).toMatchObject({ state: 'done', tasks_done: TASKS.length })
    expect(done.machine).toBeUndefined()
    expect(done.tasks.map(({ attempt, steps }) => [attempt, steps.length])).toEqual(TASKS.map(() => [1, 1]))
    for (const task of TASKS) expect(world.git('show', `${done.result!.branch}:${task}.txt`)).toBe(task)
    expect(await world.json<VerifyView>('trail', 'verify')).toMatchObject({ sound: true })
    const verifier = join(import.meta.dirname, '../../../../scripts/verify-trail.mjs')
    execFileSync(process.execPath, [verifier, join(world.home, 'default')])
    // Once when it began, once when it ended; and the room for the next time is back.
    node.child.kill('SIGINT')
    const { out, err } = await node.ended
    expect((out + err).match(/Held up by the machine/g)).toHaveLength(1)
    expect((out + err).match(/The machine is sound again/g)).toHaveLength(1)
    expect(out + err).not.toContain('does not fit its schema')
    expect(readdirSync(join(world.home, 'default'))).toContain('reserve')
  },
  120_000,
)

test.skipIf(!mayMount)(
  'a read-only disk: no node starts, which is told as that; one that is writable again is all that it takes',
  async () => {
    world.mount('size=24m')
    expect(await world.parley('runs')).toMatchObject({ code: 0 })
    await world.parley('down')
    const remount = (how: 'ro' | 'rw') =>
      execFileSync('mount', ['-o', `remount,${how}`, world.home], { stdio: 'ignore' })
    // Programs that the node had started may have its log open for a moment longer.
    await vi.waitFor(() => remount('ro'), { timeout: 20_000, interval: 200 })
    for (const command of ['runs', 'up']) {
      const { code, out, err } = await world.parley(command)
      expect([command, code, out + err]).toEqual([command, 7, expect.stringContaining('read-only')])
    }
    expect(await world.parley('down')).toMatchObject({ code: 0, out: 'No node is running.\n' })
    expect((await world.parley('doctor')).out).toMatch(/problem +profile .*the disk is read-only \(EROFS\)/)
    remount('rw')
    expect(await world.parley('runs')).toMatchObject({ code: 0 })
  },
  60_000,
)

test.skipIf(!mayMount)(
  'no inodes left: an agent that meets that burns no attempt, and no node starts meanwhile; all say what is missing',
  async () => {
    world.mount('size=64m,nr_inodes=900')
    // Takes every inode, once: what it leaves in its folder goes with the folder.
    const agents = {
      writer: `if [ ! -e ${world.folder}/met ]; then touch ${world.folder}/met; i=0; while : > "f$i"; do i=$((i+1)); done; exit 1; fi; echo a > a.txt`,
    }
    world.team(teamFile(agents, ['{ id: a, title: A, agent: writer, prompt: x, attempts: 1 }']))
    const solved = await world.parley('solve', 'Write it', '--yes')
    expect(solved).toMatchObject({ code: 0, err: expect.stringContaining('has no inodes left') })
    expect(await world.json<RunView>('show')).toMatchObject({ state: 'done', tasks: [{ attempt: 1 }] })

    await world.parley('down')
    const many = join(world.home, 'many')
    mkdirSync(many)
    for (let number = 0; statfsSync(world.home).ffree > 0; number++) writeFileSync(join(many, String(number)), '')
    for (const command of ['runs', 'up']) {
      const { code, out, err } = await world.parley(command)
      expect([command, code, out + err]).toEqual([command, 7, expect.stringContaining('no inodes left')])
    }
    expect((await world.parley('doctor')).out).toMatch(/\d of 900 inodes free/)
    rmSync(many, { recursive: true })
    expect(await world.parley('runs')).toMatchObject({ code: 0 })
  },
  60_000,
)
