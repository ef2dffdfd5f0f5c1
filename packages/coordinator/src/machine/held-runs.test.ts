// Runs whose machine fails in the middle of them: real git, a real trail, and a machine that fails when the test says
// so.
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { AgentFunction } from '@parley/agents'
import { err, type MachineFault, ParleyError, SystemClock } from '@parley/core'
import { memoryDisks } from '@parley/trail/testing'
import { expect, onTestFinished, test, vi } from 'vitest'
import { alice, Fixture, hanging, put, refusal, writes } from '../testing/fixture.ts'
import { machineLimits } from './limits.ts'
import { Machine, type MachineOptions } from './machine.ts'

const FULL: MachineFault = { code: 'ENOSPC', where: '/full' }

/** Counts what it is told. */
class Told extends Machine {
  reports = 0

  override report(...told: Parameters<Machine['report']>): MachineFault | undefined {
    this.reports++
    return super.report(...told)
  }
}

function failing(times?: MachineOptions['times']) {
  const state: { fault: MachineFault | undefined; looks: number } = { fault: undefined, looks: 0 }
  const logged: string[] = []
  const machine = new Told({
    clock: new SystemClock(),
    folder: '/full',
    ...(times && { times }),
    probe: async () => {
      state.looks++
      return state.fault
    },
    log: (_level, message) => logged.push(message),
  })
  return { state, machine, logged }
}

/** Waits for something that the machine does by itself. */
async function until(so: () => boolean): Promise<void> {
  for (let looks = 0; looks < 2_000 && !so(); looks++) await new Promise(resolve => setTimeout(resolve, 10))
  expect(so()).toBe(true)
}

const TEAM = `version: 1
name: t
description: d
agents:
  writer: { command: [scripted, writer] }
  other: { command: [scripted, other] }
plan:
  - { id: a, title: A, agent: writer, prompt: x, check: [sh, -c, "test -e \\"$SOUND\\""] }
  - { id: b, title: B, agent: other, prompt: x, needs: [a] }
`
const BOTH = TEAM.replace(/, check: \[.*\]/, '')
const ALONE = BOTH.replace(/ {2}- \{ id: b.*\n/, '')

test('turns and checks that fail while the machine does are taken again, and are no attempts', async () => {
  const { state, machine, logged } = failing({ firstProbe: 50, probe: 100, quiet: 50 })
  const turns: string[] = []
  const fixture = await Fixture.open(
    {
      writer: async ({ folder }) => {
        turns.push('writer')
        if (turns.length === 1) {
          state.fault = FULL
          const cause = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
          throw new ParleyError('exit_nonzero', 'It ended with 1.', { cause })
        }
        put(folder!, 'a.txt', 'a\n')
        // The check finds the disk full again, and only its folder says so.
        state.fault = FULL
        return 'done'
      },
      other: input => {
        turns.push('other')
        return writes('b.txt', 'b')(input)
      },
    },
    { machine },
  )
  const sound = join(fixture.folder, 'sound')
  const run = await fixture.solve(TEAM.replace('$SOUND', sound))
  await until(() => machine.held !== undefined)
  const view = await fixture.until(run, ({ machine: held }) => held !== undefined)
  const held = { code: 'ENOSPC', where: expect.stringContaining(`runs/${run}`) }
  expect(view).toMatchObject({ state: 'working', machine: held })
  const error = { code: 'machine_fault', retryable: true }
  expect(await fixture.trySolve(TEAM, { intent: 'More.' })).toMatchObject({ error })
  // Nothing is taken while it lasts.
  await until(() => state.looks > 0)
  expect(turns).toEqual(['writer'])
  state.fault = undefined
  await until(() => turns.length === 2 && machine.held !== undefined)
  mkdirSync(sound)
  state.fault = undefined
  const over = await fixture.over(run)
  expect(over).toMatchObject({ state: 'done', tasks_done: 2 })
  expect(over.machine).toBeUndefined()
  expect(turns).toEqual(['writer', 'writer', 'other'])
  expect(over.tasks.map(({ attempt }) => attempt)).toEqual([1, 1])
  expect(over.tasks[0]!.steps.map(({ kind, outcome }) => [kind, outcome])).toEqual([
    ['work', 'complete'],
    ['check', 'accepted'],
  ])
  expect(fixture.result(over, 'b.txt')).toBe('b\n')
  // One line when it began and one when it ended, twice.
  expect(logged).toHaveLength(4)
  machine.close()
})

test('a turn that fails by itself on a sound machine is an attempt, whatever it prints', async () => {
  const { machine } = failing()
  const details = { stderr: 'No space left on device', exitCode: 1, output: 'x' }
  const error = new ParleyError('exit_nonzero', 'It ended with 1.', { details })
  const fixture = await Fixture.open({ writer: async () => ({ outcome: 'failed', error, usage: {} }) }, { machine })
  const over = await fixture.finished(ALONE)
  expect(over.state).toBe('failed')
  expect(over.tasks[0]!.attempt).toBeGreaterThan(1)
  machine.close()
})

test('a trail that cannot be written for a while holds a run up and costs it nothing: no turn is lost or repeated', async () => {
  const usage = { tokensIn: 5, tokensOut: 5 }
  const { machine } = failing()
  const disks = memoryDisks()
  const turns: string[] = []
  const script =
    (name: string): AgentFunction =>
    async ({ folder }) => {
      turns.push(name)
      writeFileSync(join(folder!, `${name}.txt`), `${name}\n`)
      // What it came to is the first thing that cannot be recorded.
      if (name === 'writer') disks.trail.fail('write', { times: Number.POSITIVE_INFINITY, code: 'ENOSPC' })
      return { outcome: 'complete', text: 'done', usage }
    }
  const fixture = await Fixture.open({ writer: script('writer'), other: script('other') }, { machine, disks })
  const run = await fixture.solve(BOTH)
  await until(() => machine.held !== undefined)
  const before = machine.reports
  await until(() => machine.reports > before + 1)
  expect(machine.held).toMatchObject({ code: 'ENOSPC' })
  expect(turns).toEqual(['writer'])
  disks.trail.mend()
  const over = await fixture.over(run)
  expect(over).toMatchObject({ state: 'done', tasks_done: 2 })
  expect(over.usage.tokens_in).toBe(10)
  expect(turns).toEqual(['writer', 'other'])
  expect(over.tasks.map(({ attempt, steps }) => [attempt, steps.length])).toEqual([
    [1, 1],
    [1, 1],
  ])
  expect(await fixture.trail.run(run).verify()).toMatchObject({ findings: [] })
  machine.close()
})

test('on a read-only disk what people ask for is refused within seconds, nothing of it happens later, and a stop ends', async () => {
  const { machine } = failing()
  const disks = memoryDisks()
  const writer = hanging()
  const fixture = await Fixture.open({ writer: writer.script }, { machine, disks })
  const run = await fixture.solve(ALONE)
  await writer.begun
  disks.trail.fail('write', { times: Number.POSITIVE_INFINITY, code: 'EROFS' })
  const { coordinator } = fixture
  const by = { principal: alice, reason: 'enough' }
  // The first meets the fault, the others a run that waits for its trail.
  for (const act of [
    () => coordinator.interventions.abort(run, by),
    () => coordinator.interventions.abort(run, by),
    () => coordinator.interventions.abort(run, { ...by, task: 'a' }),
  ])
    expect(await act()).toMatchObject(refusal('trail_unavailable'))
  await coordinator.close()
  disks.trail.mend()
  const entries = await fixture.trail.run(run).query({})
  expect(JSON.stringify(entries)).not.toContain('aborted')
  machine.close()
}, 30_000)

/** A full disk of its own in a place of the run; undefined where nobody may mount anything. */
function fullDiskAt(place: string): { free(): void } | undefined {
  mkdirSync(place, { recursive: true })
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4k', 'tmpfs', place], { stdio: 'ignore' })
  } catch {
    return undefined
  }
  let mounted = true
  const free = () => {
    if (mounted) execFileSync('umount', ['--lazy', place])
    mounted = false
  }
  onTestFinished(free)
  writeFileSync(join(place, 'filler'), Buffer.alloc(4096))
  return { free }
}

/**
 * A run whose writer, in its first turn, leaves a full disk in a place of the run: `index`, where captures keep what
 * git knows of the files, or `new`, where folders are made.
 */
async function runIntoFullDisk(place: 'index' | 'new', team: string) {
  const { state, machine } = failing({ firstProbe: 50, probe: 100, quiet: 50 })
  const turns: string[] = []
  let disk: ReturnType<typeof fullDiskAt>
  const script =
    (name: string): AgentFunction =>
    async ({ folder }) => {
      turns.push(name)
      put(folder!, `${name}.txt`, `${name}\n`)
      if (turns.length === 1) disk = fullDiskAt(join(folder!, '..', '..', place))
      if (disk && turns.length === 1) state.fault = FULL
      return 'done'
    }
  const fixture = await Fixture.open({ writer: script('writer'), other: script('other') }, { machine })
  onTestFinished(() => machine.close())
  const run = await fixture.solve(team)
  await until(() => turns.length === 1)
  await new Promise(resolve => setImmediate(resolve))
  if (disk) await until(() => machine.held !== undefined && state.looks > 2)
  const heal = () => {
    disk?.free()
    state.fault = undefined
  }
  return { fixture, machine, run, turns, full: disk !== undefined, heal }
}

test('work that an agent has finished is kept until it can be captured, and is not done again', async context => {
  const { fixture, run, turns, full, heal } = await runIntoFullDisk('index', ALONE)
  if (!full) return context.skip()
  heal()
  const over = await fixture.over(run)
  expect(over).toMatchObject({ state: 'done', tasks: [{ attempt: 1 }] })
  expect([turns, fixture.result(over, 'writer.txt')]).toEqual([['writer'], 'writer\n'])
})

test.for([
  ['finished work cannot be captured', 'index', ALONE],
  ['the folder of a turn cannot be made', 'new', BOTH],
] as const)(
  'a node that stops while %s leaves it to the next one, and nothing has failed',
  async ([, place, team], context) => {
    const { fixture, machine, run, full, heal } = await runIntoFullDisk(place, team)
    if (!full) return context.skip()
    await fixture.stop()
    heal()
    await until(() => machine.held === undefined)
    await fixture.start()
    const over = await fixture.over(run)
    expect(over).toMatchObject({ state: 'done', tasks: over.tasks.map(() => ({ attempt: 1 })) })
    expect(over.tasks.flatMap(({ steps }) => steps.map(({ outcome }) => outcome))).toEqual(
      over.tasks.map(() => 'complete'),
    )
    expect(fixture.result(over, 'writer.txt')).toBe('writer\n')
  },
)

test('a turn that ends well on a full disk is kept with a notice, on record and in the view; one on a sound disk has none', async () => {
  const { state, machine } = failing({ firstProbe: 50, probe: 100, quiet: 50 })
  const script =
    (name: string): AgentFunction =>
    async ({ folder }) => {
      // It did not look at what its write came to.
      put(folder!, `${name}.txt`, '')
      state.fault = name === 'writer' ? FULL : undefined
      return 'done'
    }
  const fixture = await Fixture.open({ writer: script('writer'), other: script('other') }, { machine })
  const over = await fixture.finished(BOTH)
  expect(over.state).toBe('done')
  expect(over.warnings).toEqual([
    'a: writer ended a turn without an error, but not on a sound disk: the disk is full (ENOSPC). Look at what it wrote; something may be missing.',
  ])
  machine.close()
})

/** Queries of the trail fail, as those of an index whose thread met a failing disk. */
function failQueries(fixture: Fixture, times: number, details: Record<string, unknown>): void {
  const open = fixture.trail.run.bind(fixture.trail)
  let left = times
  const error = new ParleyError('index_failed', 'The index of the trail failed.', { retryable: true, details })
  vi.spyOn(fixture.trail, 'run').mockImplementation(id => {
    const run = open(id)
    const query = run.query.bind(run)
    const since = run.since.bind(run)
    run.query = async (...asked) => (left-- > 0 ? err(error) : query(...asked))
    run.since = async (...asked) => (left-- > 0 ? err(error) : since(...asked))
    return run
  })
}

test('an index that a failing disk keeps from answering ends no run, however often it fails', async () => {
  const { machine } = failing({ firstProbe: 5, probe: 5, quiet: 5 })
  const fixture = await Fixture.open({ writer: writes('a.txt'), other: writes('b.txt') }, { machine })
  const run = await fixture.solve(BOTH)
  failQueries(fixture, machineLimits.faultsInARow + 10, { system: 'EIO', path: '/trail/00000001.seg' })
  expect((await fixture.over(run)).state).toBe('done')
  machine.close()
})

test('a run that has begun is driven, although its trail cannot be read at that moment', async () => {
  const fixture = await Fixture.open({ writer: writes('a.txt'), other: writes('b.txt') })
  failQueries(fixture, 1, {})
  const run = await fixture.solve(BOTH)
  expect((await fixture.over(run)).state).toBe('done')
  expect(fixture.logged.filter(line => line.startsWith('error'))).toEqual([
    `error cannot go on with ${run}: The index of the trail failed.`,
  ])
})

test('a run that a failing disk keeps from being read when the node starts goes on when it can be read, with the same agents', async () => {
  const { state, machine } = failing({ firstProbe: 5, probe: 5, quiet: 5 })
  onTestFinished(() => machine.close())
  const disks = memoryDisks()
  const first = hanging()
  let turns = 0
  const writer: AgentFunction = input => (++turns === 1 ? first.script(input) : writes('a.txt')(input))
  const fixture = await Fixture.open({ writer, other: writes('b.txt') }, { machine, disks })
  // Too long for the log itself, so that the run cannot be read without its blob.
  const run = await fixture.solve(BOTH.replaceAll(/prompt: x\b/g, `prompt: ${'x'.repeat(60_000)}`))
  await first.begun
  await fixture.stop()
  disks.blobs.fail('read', { times: 3, code: 'EIO' })
  await fixture.start()
  await until(() => turns === 2)
  const over = await fixture.over(run)
  expect(over).toMatchObject({ state: 'done', tasks: over.tasks.map(() => ({ attempt: 1 })) })
  expect(state.looks).toBeGreaterThan(0)
  expect(await fixture.trail.run(run).verify()).toMatchObject({ findings: [] })
})
