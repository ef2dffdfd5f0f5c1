// Looks at the storage from outside, at random moments: whatever has moved meanwhile, every reader gets what was handed
// in, once and byte for byte (W-TRAIL-25, -29), from the trail itself and from the second copy of its cold tier alone.
import { canonicalize, type RunId } from '@parley/core'
import { type Entry, type EntryDraft, Trail, type TrailFilter } from '@parley/trail'
import { openMemoryCold, type Tier } from '@parley/trail/testing'
import type { RunModel } from '../model/model.ts'
import { isOver } from '../model/records.ts'
import type { Dice } from '../random.ts'
import type { Problem } from '../rules/rule.ts'
import { compactedProblem } from '../rules/storage.ts'
import type { World } from '../world/world.ts'
import { violated } from './invariants.ts'

const RANKS: Readonly<Record<Tier, number>> = { hot: 0, warm: 1, cold: 2 }
/** Entries that are asked about one by one. */
const ASKED = 5

export async function inspect(world: World, dice: Dice): Promise<void> {
  if (world.watch.troubled) return
  const finished = world.storage.finished
  const known = [...world.models.values()].filter(run => run.seq > 0)
  const run = (dice.chance(0.7) ? dice.maybe(finished) : undefined) ?? dice.maybe(known)
  if (!run) return
  violated('W-TRAIL-29 queries find the same whichever tier it is in', await queryProblem(world, run, dice))
  violated('W-TRAIL-25 every record is in one place', await scanProblem(world, run))
  violated('W-TRAIL-24 W-TRAIL-25 entries move from hot to warm to cold', await tierProblem(world, run, dice))
  violated('W-TRAIL-25 moving changes no byte', await replayProblem(world, run))
  violated('W-TRAIL-16 the trail verifies', await verifyProblem(world, run, dice.chance(0.5)))
  if (dice.chance(0.3)) violated('W-TRAIL-26 the cold copy verifies alone', await coldProblem(world))
}

function trailOf(world: World, run: RunModel) {
  return world.life.trail.run(run.id as RunId)
}

async function queryProblem(world: World, run: RunModel, dice: Dice): Promise<Problem> {
  const trail = trailOf(world, run)
  const filter = filterFor(run, dice)
  const order = dice.pick(['ascending', 'descending'] as const)
  const limit = dice.pick([7, 50, 1000])
  const found: Entry[] = []
  for (let after: number | undefined; ; ) {
    const page = await trail.query({ ...filter, order, limit, ...(after !== undefined && { after }) })
    if (!page.ok) return `${JSON.stringify(filter)}: ${page.error.message}`
    if (page.value.partial) return `${page.value.partial.join()} cannot be read`
    found.push(...page.value.entries)
    if (!page.value.more) break
    after = page.value.cursor
  }
  const wanted = run.drafts.filter(each => !run.gone.has(each.id) && matches(each, filter))
  if (order === 'descending') wanted.reverse()
  if (found.length !== wanted.length)
    return `${found.length} of ${wanted.length} entries for ${JSON.stringify(filter)} ${order}`
  for (const [index, entry] of found.entries())
    if (!isSame(entry, wanted[index]!)) return `${wanted[index]!.id} is ${entry.id}`
  const counted = await trail.aggregate({ filter, group: 'event_type' })
  if (!counted.ok) return counted.error.message
  const sum = counted.value.rows.reduce((total, row) => total + row.count, 0)
  return sum === wanted.length ? undefined : `${sum} of ${wanted.length} are counted`
}

function filterFor(run: RunModel, dice: Dice): TrailFilter {
  const one = dice.maybe(run.drafts)!
  return dice.pick<TrailFilter>([
    {},
    one.workspace === null ? {} : { workspace: one.workspace },
    { event_type: [one.event_type] },
    { actor: one.actor },
  ])
}

function matches(entry: EntryDraft, { workspace, event_type, actor }: TrailFilter): boolean {
  return (
    (workspace === undefined || entry.workspace === workspace) &&
    (event_type === undefined || event_type.includes(entry.event_type)) &&
    (actor === undefined || entry.actor === actor)
  )
}

function isSame(stored: Entry, draft: EntryDraft): boolean {
  return stored.id === draft.id && bytesOf(stored) === bytesOf(draft)
}

function bytesOf({ id, timestamp, event_type, workspace, actor, body }: EntryDraft): string {
  return canonicalize({ id, timestamp, event_type, workspace, actor, body })
}

/** What is physically there, without the help of an index. */
async function scanProblem(world: World, run: RunModel): Promise<Problem> {
  const entries: (string | undefined)[] = []
  const objects: string[] = []
  for await (const records of world.life.store.scan(run.id as RunId)) {
    for (const record of records) {
      if (record.kind === 'damage') return record.message
      if (record.kind === 'object') objects.push(record.id)
      else if (record.seq !== entries.length + 1) return `entry ${record.seq} follows ${entries.length}`
      else entries.push(record.kind === 'bridge' ? undefined : run.drafts[record.seq - 1]?.id)
    }
  }
  const wanted = run.drafts.map(({ id }) => (run.gone.has(id) ? undefined : id))
  const wrong = wanted.findIndex((id, index) => entries[index] !== id)
  if (wrong >= 0 || entries.length !== wanted.length) return `entry ${wrong + 1} of ${wanted.length}`
  const left = [...run.objects.keys()].filter(id => !run.gone.has(id))
  return objects.join() === left.join() ? undefined : `${objects.length} objects, ${left.length} were kept`
}

async function tierProblem(world: World, run: RunModel, dice: Dice): Promise<Problem> {
  const id = run.id as RunId
  const manifests = await world.life.store.tiers.manifests(id)
  const wrong = compactedProblem(run, manifests)
  if (wrong !== undefined) return wrong
  const cold = new Set(
    manifests.filter(({ tier }) => tier === 'cold').flatMap(({ entries }) => entries.map(({ seq }) => seq)),
  )
  for (let asked = 0; asked < ASKED; asked++) {
    const seq = dice.between(1, run.seq)
    const { id: entry, workspace } = run.drafts[seq - 1]!
    const tier = await world.life.trail.run(id).tierOf(seq)
    const over = workspace === null ? run.ended : isOver(run.workspace(workspace).status)
    const wanted = run.gone.has(entry) ? undefined : cold.has(seq) ? 'cold' : over ? 'warm' : 'hot'
    if (tier !== wanted) return `entry ${seq} of ${run.id} is ${tier}, not ${wanted}`
    const before = run.tiers.get(seq)
    if (tier && before && RANKS[tier] < RANKS[before]) return `entry ${seq} went from ${before} to ${tier}`
    if (tier) run.tiers.set(seq, tier)
  }
  return undefined
}

async function replayProblem(world: World, run: RunModel): Promise<Problem> {
  const left = run.log.filter(id => !run.gone.has(id))
  let at = 0
  for await (const record of trailOf(world, run).replay()) {
    const id = left[at++]
    if (record.id !== id) return `${record.id} stands in the place of ${id}`
    if ('event_type' in record) continue
    const kept = run.objects.get(id)!
    if (canonicalize(record.value) !== canonicalize(kept.value)) return `the content of ${id} is another`
  }
  return at === left.length ? undefined : `${left.length - at} records are missing`
}

async function verifyProblem(world: World, run: RunModel, skipSignatures: boolean): Promise<Problem> {
  const { findings } = await trailOf(world, run).verify({ skipSignatures })
  return findings[0]?.message
}

/** W-TRAIL-26: after the loss of everything else. */
async function coldProblem(world: World): Promise<Problem> {
  const copy = world.disks.replica.copy()
  const store = await openMemoryCold(copy)
  try {
    const report = await new Trail({ store }).verifyAll()
    const [finding] = report.runs.flatMap(each => each.findings)
    if (finding || report.unreadable.length > 0) return finding?.message ?? report.unreadable.join()
    for (const { run, seq } of await store.runs()) {
      const model = world.models.get(run)
      if (!model || seq > model.seq) return `${run} has ${seq} entries, of which ${model?.seq} are known`
      let last = 0
      for await (const record of store.replay(run)) {
        if (record.kind !== 'entry') continue
        for (last++; last < record.seq; last++)
          if (!model.gone.has(model.drafts[last - 1]!.id)) return `${run} misses entry ${last}`
      }
    }
    return undefined
  } finally {
    await store.close()
  }
}
