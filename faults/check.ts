// What must hold after faults, looked at from outside: everything that a client was told is there exactly once, the
// work is in the result once, the record verifies with a verifier that shares no code with it, and nothing is left
// lying about.

import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { heads, restored, type Stage } from './acts.ts'
import type { Journal, ToldRun } from './journal.ts'
import { faultTimes } from './limits.ts'
import { Finding, until } from './waiting.ts'
import { lineOf, TEAMS } from './work.ts'
import type { World } from './world.ts'

const query = { type: 'query', timeout: faultTimes.call } as const
/** What the agents' shell says of a write of its own that met a fault which the node came too late to see. */
const OWN_WRITE = /^The agent \S+ \(sh\) ended with exit code \d+: .*I\/O error/
/** What one call lists at most. */
const LISTED = 1000

/** Every run comes to its end by itself, and every watch delivers all of it. */
export async function settled(stage: Stage): Promise<void> {
  const { world, journal, clients } = stage
  await adoptUnacknowledged(stage)
  await until(
    faultTimes.settle,
    () => `the end of ${journal.atWork.map(({ run, state, cursor }) => `${run} (${state} at ${cursor})`).join(', ')}`,
    () => journal.atWork.length === 0 || !world.alive,
  )
  if (!world.alive) throw new Finding('the node is gone, although nothing ended it')
  if (world.unfinished) await again(world)
  if (world.lacking)
    await until(
      faultTimes.settle,
      () => 'a restore of the archive that was taken away',
      async () => {
        await restored({ world, clients })
        return !world.lacking
      },
    )
}

/** What the node has told to be there after another start. */
async function again(world: World): Promise<void> {
  const kept = await world.stop()
  if (kept) throw new Finding(`the node does not stop, although nothing fails any more: ${kept.message}`)
  await world.started()
  world.unfinished = false
}

/** A start whose answer was lost has started a run or has not; if it has, that is watched from now on. */
async function adoptUnacknowledged({ journal, clients }: Stage): Promise<void> {
  if (![...journal.intents.values()].includes(false)) return
  const listed = await clients.ask('runs', client => client.invoke('runs', 'list', { limit: LISTED }, query))
  if (!listed) throw new Finding('the runs cannot be listed, although nothing fails any more')
  for (const { run, intent, team } of listed.runs) {
    if (journal.intents.get(intent) === false && !journal.runs.has(run))
      clients.adopt(run, intent, TEAMS.find(({ name }) => name === team)!)
  }
}

/** After faults, with the node at work: of runs that were not looked at since their end, or of all of them. */
export async function checkWhole(stage: Stage, which: 'new' | 'all'): Promise<void> {
  const { journal, clients } = stage
  await heads(stage)
  for (const told of journal.runs.values()) {
    if (told.retired && which === 'new') continue
    const entries = await checkEntries(stage, told)
    checkActs(journal, told, entries)
    await checkEnd(stage, told)
    clients.retire(told)
  }
  const listed = await clients.ask('runs', client => client.invoke('runs', 'list', { limit: LISTED }, query))
  if (!listed) throw new Finding('the runs cannot be listed, although nothing fails any more')
  for (const [intent, acknowledged] of journal.intents) {
    const count = listed.runs.filter(each => each.intent === intent).length
    if (count > 1 || (acknowledged && count !== 1))
      journal.found(`'${intent}' was ${acknowledged ? 'acknowledged' : 'asked for'} once and is there ${count} times`)
  }
  for (const run of journal.imported)
    if (!listed.runs.some(each => each.run === run)) journal.found(`${run} was imported and is not there`)
  const keys = await clients.ask('keys', client => client.invoke('trail', 'keys', {}, query))
  for (const key of journal.keys)
    if (keys?.keys.filter(each => each.key === key).length !== 1)
      journal.found(`the key ${key} was told to be in place and is not listed once`)
  journal.note(`whole: ${journal.runs.size} runs`)
}

type Entry = Awaited<ReturnType<typeof readRun>>[number]

async function readRun({ clients, journal }: Stage, run: string) {
  const found = []
  for (let after = 0; ; ) {
    const page = await clients.ask(`entries of ${run}`, client =>
      client.invoke('trail', 'query', { run, after }, query),
    )
    if (!page) throw new Finding(`${run} cannot be read, although nothing fails any more`)
    if (page.partial) journal.found(`only a part of ${run} can be read: ${page.partial.join(', ')}`)
    found.push(...page.entries)
    if (!page.more) return found
    after = page.cursor
  }
}

/** Every place once, in order; what was told of it is so. */
async function checkEntries(stage: Stage, told: ToldRun): Promise<readonly Entry[]> {
  const { journal } = stage
  // What is told while it is read may be newer.
  const newest = Math.max(0, ...told.entries.keys(), journal.heads.get(told.run)?.seq ?? 0)
  const entries = await readRun(stage, told.run)
  const ids = new Set<string>()
  for (const [index, entry] of entries.entries()) {
    if (entry.seq !== index + 1) {
      journal.found(`${told.run} has entry ${entry.seq} where ${index + 1} should be`)
      break
    }
    if (ids.has(entry.id)) journal.found(`${told.run} has the entry ${entry.id} twice`)
    ids.add(entry.id)
    journal.seen(told, entry)
  }
  if (newest > entries.length)
    journal.found(`${told.run} was told up to entry ${newest} and is read up to ${entries.length}`)
  if (told.retired) return entries
  await until(
    faultTimes.answer,
    () => `a watch of ${told.run} to deliver entry ${entries.length}; it stands at ${told.cursor}`,
    () => told.cursor >= entries.length,
  )
  return entries
}

/** Every answer that was acknowledged has one effect. */
function checkActs(journal: Journal, { run, tasks, state }: ToldRun, entries: readonly Entry[]): void {
  const count = (type: string, field: string, value: string) =>
    entries.filter(
      ({ event_type, body }) => event_type === type && (body as unknown as Record<string, unknown>)[field] === value,
    ).length
  const once = (of: ReadonlyMap<string, string>, type: string, field: string) => {
    for (const [id, its] of of) {
      const times = its === run ? count(type, field, id) : 1
      if (times !== 1) journal.found(`${id} was acknowledged; ${run} has ${times} ${type} of it`)
    }
  }
  once(journal.gates, 'gate_resolved', 'gate_id')
  once(journal.envelopes, 'human_injection', 'envelope_id')
  once(journal.snapshots, 'trail_snapshot_created', 'snapshot_id')
  if (state !== 'done') return
  const integrated = entries.filter(
    ({ event_type, body }) =>
      event_type === 'task_status_changed' && (body as unknown as { to_status: string }).to_status === 'integrated',
  ).length
  if (integrated !== tasks.length)
    journal.found(`${run} has ${tasks.length} tasks and ${integrated} that were integrated`)
}

async function checkEnd({ world, journal, clients }: Stage, told: ToldRun): Promise<void> {
  const { run, tasks, excuses } = told
  const view = await clients.ask(`view of ${run}`, client => client.invoke('runs', 'show', { run }, query))
  if (!view) return journal.found(`${run} cannot be shown, although nothing fails any more`)
  journal.viewed(told, view)
  if (view.state !== 'done') {
    const why = `${view.state} (${view.reason ?? 'no reason'}; ${view.tasks.flatMap(({ id, state, note }) => (state === 'done' ? [] : `${id}: ${state}, ${note}`)).join('; ')})`
    if (excuses.length === 0) journal.found(`${run} ended as ${why}, although no agent failed`)
    else journal.note(`${run} ended as ${why}, after ${excuses.join('; ')}`)
    return
  }
  const again = view.tasks.flatMap(({ id, attempt, steps }) =>
    attempt - steps.filter(({ text = '' }) => OWN_WRITE.test(text)).length > 1
      ? [`${id} ${attempt} (${steps.map(step => JSON.stringify(step)).join('; ')})`]
      : [],
  )
  if (again.length > 0 && excuses.length === 0)
    journal.found(`${run} took more than one attempt, although no agent failed: ${again.join(', ')}`)
  // Putting the result in its place may have been held up, too.
  let last: unknown
  const branch = await until(
    faultTimes.answer,
    () =>
      `the branch of ${run}, which is done: the last answer was ${JSON.stringify(last)}, its mark is ${existsSync(join(world.profile, 'runs', run, 'open')) ? 'there' : 'gone'}, the project has ${world.git('branch', '--list', '--all')}`,
    async () => {
      const shown = await clients.ask(`result of ${run}`, client => client.invoke('runs', 'show', { run }, query))
      last = shown && { result: shown.result, unknown: shown.result_unknown }
      return shown?.result?.branch
    },
  )
  const expected = [
    ...tasks.map(task => `lines/${task}.txt ${blob(lineOf(task))}`),
    `README.md ${blob('A project.\n')}`,
  ]
  const found = world
    .git('ls-tree', '-r', branch)
    .trim()
    .split('\n')
    .map(line => /^\d+ blob ([0-9a-f]+)\t(.*)$/.exec(line))
    .map(parts => `${parts?.[2]} ${parts?.[1]}`)
  if (found.toSorted().join('\n') !== expected.toSorted().join('\n'))
    journal.found(`the result of ${run} is not every task's line once:\n${found.join('\n')}`)
}

function blob(text: string): string {
  return createHash('sha1')
    .update(`blob ${Buffer.byteLength(text)}\0${text}`)
    .digest('hex')
}

/** By the node itself, with all heads that it ever told. */
export async function checkVerified({ journal, clients }: Stage): Promise<void> {
  const expect = [...journal.heads].map(([run, head]) => ({ run, ...head }))
  const report = await clients.ask('verify', client => client.invoke('trail', 'verify', { expect }, query))
  if (!report) throw new Finding('the record cannot be verified, although nothing fails any more')
  if (!report.sound)
    journal.found(
      `the node finds its record damaged: ${JSON.stringify(report.runs.flatMap(({ run, findings }) => findings.map(each => ({ run, ...each }))).slice(0, 3))} ${report.unreadable.join(', ')}`,
    )
}

const VERIFIER = join(import.meta.dirname, '..', 'scripts', 'verify-trail.mjs')

/** By a program that shares no code with the trail, when no node runs, with all heads that were ever told. */
export function checkIndependently({ profile }: World, journal: Journal): void {
  const heads = [...journal.heads].flatMap(([run, { seq, hash }]) => ['--expect-head', `${run}:${seq}:${hash}`])
  const { status, stdout, stderr } = spawnSync(process.execPath, [VERIFIER, profile, '--json', ...heads], {
    encoding: 'utf8',
    timeout: faultTimes.verify,
    maxBuffer: 256 * 1024 * 1024,
  })
  if (status !== 0) journal.found(`the independent verifier ends with ${status}: ${stdout.slice(0, 4000)}${stderr}`)
}

/** After the end of the node: the process that starts git ends with it, a moment later. */
export async function checkLeftovers(world: World, journal: Journal): Promise<void> {
  await until(
    faultTimes.end,
    () => `the end of the processes ${world.processes().join(', ')}`,
    () => world.processes().length === 0,
  )
  const refs = world.git('for-each-ref', 'refs/parley').trim()
  if (refs !== '') journal.found(`refs are left in the project: ${refs}`)
}
