// The simulator finds what it is there to find: a rule that is broken on purpose, behind the kernel's back, is named.
import type { ObjectId } from '@parley/core'
import type { EntryDraft } from '@parley/trail'
import type { EventType } from '@parley/trail/events'
import type { Batch } from '@parley/trail/testing'
import { expect, test } from 'vitest'
import { act, type Favours, planOf } from './actions.ts'
import { inspect } from './checks/inspect.ts'
import { INVARIANTS } from './checks/invariants.ts'
import type { Tamper } from './checks/watch.ts'
import type { RunModel } from './model/model.ts'
import { Dice } from './random.ts'
import { actionsOf, scriptOf, shrink } from './shrink.ts'
import { simulate, simulateSeed } from './simulate.ts'
import { copied } from './world/disks.ts'
import { World } from './world/world.ts'

type Fields = Readonly<Record<string, unknown>>

/** Leaves out the entries that match, where others are left: no batch is empty. */
function without(type: EventType, matches: (body: Fields) => boolean = () => true): Tamper {
  return (_run, batch) => {
    const entries = batch.entries.filter(entry => entry.event_type !== type || !matches(entry.body as Fields))
    return entries.length > 0 ? { ...batch, entries } : batch
  }
}

/** Changes the bodies of one type. */
function changed(type: EventType, change: (body: Fields, run: RunModel) => Fields): Tamper {
  return (run, batch) => ({
    ...batch,
    entries: batch.entries.map(entry =>
      entry.event_type === type
        ? ({ ...entry, body: { ...entry.body, ...change(entry.body as Fields, run) } } as EntryDraft)
        : entry,
    ),
  })
}

function both(one: Tamper, other: Tamper): Tamper {
  return (run, batch) => other(run, one(run, batch))
}

/** Leaves out the deliveries of signals in batches with such an entry. */
function undelivered(beside: (type: EventType, body: Fields) => boolean): Tamper {
  const delivered = without('signal_delivered')
  return (run, batch) =>
    batch.entries.some(entry => beside(entry.event_type, entry.body as Fields)) ? delivered(run, batch) : batch
}

const raised =
  (field: string, by = 1) =>
  (body: Fields) => ({ [field]: Number(body[field]) + by })

/** Actions without which a rule is seldom at stake: whether it is must not depend on all the other weights. */
const GRANTS: Favours = { grant: 40, send: 40 }
const SALVAGES: Favours = { wreck: 15, salvage: 20, save: 10, quarrel: 8, reconcile: 8 }
const ENDS: Favours = { stop: 4, compact: 15, compact_run: 10, snapshot: 10 }

const BROKEN: readonly (readonly [invariant: string, what: string, tamper: Tamper, favours?: Favours])[] = [
  [
    'W-LIFE-02',
    'a transition that is not among the 22',
    changed('workspace_state_changed', body => (body.trigger === 'agent_blocked' ? { to_state: 'conflicted' } : {})),
  ],
  [
    'W-LIFE-06',
    'a worker that leaves idle without mail',
    changed('workspace_state_changed', body => (body.trigger === 'first_envelope' ? { trigger: 'agent_started' } : {})),
  ],
  [
    'W-WS-12',
    'a child that outlives its failed parent',
    without('workspace_state_changed', body => body.trigger === 'parent_failed'),
  ],
  [
    'W-WS-11',
    'a child that sees more than its parent',
    changed('workspace_created', (body, run) =>
      run.root && body.parent !== run.root.id
        ? { visibility_set: [...(body.visibility_set as string[]), run.root.id] }
        : {},
    ),
  ],
  [
    'W-ENV-09',
    'mail that is never acknowledged',
    both(
      without('signal_emitted', body => body.type === 'acknowledged'),
      // The receipt is the only signal that comes in a batch with a delivery.
      undelivered(type => type === 'envelope_delivered'),
    ),
  ],
  [
    'W-ENV-10',
    'mail that overtakes',
    changed('envelope_delivered', (body, run) => ({
      envelope_id: run.workspaces.get(String(body.to))?.channels.get(String(body.from))?.at(-1),
    })),
  ],
  ['W-ENV-18', 'mail that waits for a sealed inbox', without('envelope_undeliverable')],
  ['W-PORT-07', 'a send_once that is never used up', without('port_right_consumed'), GRANTS],
  ['W-CP-04 W-CP-07', 'a checkpoint chain with a fork', changed('checkpoint_created', () => ({ parent: null }))],
  [
    'W-TASK-04',
    'a task that skips a step',
    changed('task_status_changed', body => (body.to_status === 'assigned' ? { to_status: 'in_progress' } : {})),
  ],
  ['W-TASK-06', 'attempts that count wrong', changed('task_assigned', raised('attempt_number'))],
  ['W-INT-02', 'an integration that never ends', without('integration_aborted')],
  [
    'W-LIFE-10',
    'a failure that nobody is told of',
    both(
      without('signal_emitted', body => body.type === 'failed' && body.reason !== 'delivery_exhausted'),
      undelivered((_type, body) => body.to_state === 'failed'),
    ),
  ],
  ['W-MIG-05', 'a workspace that comes back without an agent', without('migration_completed')],
  ['W-MIG-06', 'a migration that ends without a word', without('migration_failed')],
  [
    'W-SEC-03',
    'an agent in two workspaces at once',
    changed('workspace_created', body => (body.parent === null ? {} : { agent: 'everywhere' })),
  ],
  [
    'W-TERM-04',
    'a grace whose end names another checkpoint',
    changed('graceful_termination_expired', () => ({ partial_checkpoint: 'cp_other' })),
  ],
  ['W-SIG-06', 'a signal that is not delivered', without('signal_delivered')],
  ['W-HWY-03', 'what a gate holds up, before its end', without('gate_resolved', body => body.actor === 'ux')],
  ['W-HWY-03 W-HWY-14', 'a gate with a time of its own', changed('gate_triggered', raised('timeout'))],
  ['W-HWY-06', 'a gate that takes a wrong place', changed('gate_triggered', raised('queue_position'))],
  ['W-HWY-22', 'an escalation of which nothing comes', without('escalation_resolved')],
  [
    'W-BUDGET-05',
    'a limit that ends the work too early',
    changed('budget_exceeded', body => ({ consumed: Number(body.limit) / 2 })),
  ],
  ['W-BUDGET-08', 'a silence of another length', changed('liveness_warning', raised('interval'))],
  [
    'W-WS-13 W-TOPO-TREE-07',
    'an orphan that stays where it was',
    changed('workspace_reparented', body => ({ new_parent: body.old_parent })),
  ],
  ['W-USER-10', 'a cause that is another', changed('workspace_created', () => ({ originator: 'uy' }))],
  ['W-INT-13', 'a merge over an open conflict', without('conflict_resolved')],
  ['W-REC-20 W-REC-22', 'an outage of another length', changed('recovery_completed', raised('downtime', 5))],
  [
    'W-INT-18 W-INT-19',
    'a salvage without a judgement',
    changed('integration_started', body => (body.mode === 'salvage' ? { strategy: 'direct' } : {})),
    SALVAGES,
  ],
  [
    'W-INT-02 W-INT-20',
    'something that is saved over an open conflict',
    without('conflict_resolved', body => body.mode === 'salvage'),
    SALVAGES,
  ],
  [
    'W-TRAIL-27',
    'a summary of a workspace that is at work',
    changed('trail_compacted', (_body, run) => ({ workspace: run.root?.id })),
    ENDS,
  ],
  ['W-TRAIL-30', 'a snapshot that counts wrong', changed('trail_snapshot_created', raised('entry_count')), ENDS],
  ['0.5 a refused command', 'a refusal that leaves something behind', litter],
  ['0.3 0.5 an answer agrees', 'mail that is handed out without a marker', unmarked],
]

let litterCount = 0

function litter(_run: RunModel, batch: Batch): Batch {
  if (batch.entries[0]?.event_type !== 'workspace_rejected') return batch
  const id = `obj_litter${litterCount++}` as ObjectId
  return { ...batch, objects: [{ id, kind: 'context', value: {} }] }
}

function unmarked(_run: RunModel, batch: Batch): Batch {
  const objects = (batch.objects ?? []).map(object =>
    object.kind === 'consumed' ? { ...object, kind: 'context' } : object,
  )
  return { ...batch, objects }
}

/** Far more than it takes: the weights of the simulator change, and what it finds must not. */
const MOST_SEEDS = 300

for (const [invariant, what, tamper, favours = {}] of BROKEN) {
  test(`${what} is found as a breach of ${invariant}`, async () => {
    const found = new Set<string | undefined>()
    const wanted = () => [...found].find(name => name?.startsWith(invariant))
    for (let seed = 1; seed <= MOST_SEEDS && wanted() === undefined; seed++)
      found.add((await simulateSeed(seed, 300, { tamper, favours })).failure?.invariant)
    expect(wanted(), [...found].join('\n')).toBeDefined()
  }, 300_000)
}

test('a disk that forgets what it acknowledged is found as a breach of W-TRAIL-05', async () => {
  const world = new World(3)
  await world.open()
  const forgetful = copied(world.disks)
  for (const action of planOf(3, 40)) {
    if (/crash|fault|restart/.test(action.kind)) continue
    await act(world, action)
    await world.settle()
  }
  world.disks = forgetful
  await expect(world.crash()).rejects.toThrow(/^W-TRAIL-05 what was acknowledged survives/)
})

/** A world with a whole run in the cold tier, and all archives there. */
async function withArchives(): Promise<{ readonly world: World; readonly files: readonly string[] }> {
  const world = new World(5, { config: { tiers: true, signed: false } })
  await world.open()
  for (const action of planOf(5, 600, { ...ENDS, archive: 30 })) {
    if (/crash|fault|restart|replica|delete/.test(action.kind)) continue
    const begun = world.begin()
    await act(world, action)
    await world.settle()
    world.end(begun)
    const files = world.disks.trail
      .list('cold')
      .flatMap(run => world.disks.trail.list(`cold/${run}`).map(file => `${run}/${file}`))
      .filter(file => /\/\d+\.zst$/.test(file))
    const whole = world.disks.replica.list('').some(run => world.disks.replica.exists(`${run}/run.json`))
    if (files.length > 2 && whole) return { world, files }
  }
  throw new Error('nothing came to the cold tier')
}

/** Opens everything anew and looks at all of it, by and by. */
async function lookAround(world: World): Promise<void> {
  await world.restart()
  for (let seed = 0; seed < 100; seed++) await inspect(world, new Dice(seed))
}

test('archives that are as they were are found sound', async () => {
  const { world } = await withArchives()
  await lookAround(world)
})

test('a bit that turns over in every copy of an archive is found', async () => {
  const { world, files } = await withArchives()
  for (const file of files) {
    world.disks.trail.flip(`cold/${file}`, 40)
    world.disks.replica.flip(file, 40)
  }
  await expect(lookAround(world)).rejects.toThrow(/^W-TRAIL-|lie in archives that cannot be read/)
})

test('a bit that turns over in the second copy alone is found', async () => {
  const { world, files } = await withArchives()
  for (const file of files) world.disks.replica.flip(file, 40)
  await expect(lookAround(world)).rejects.toThrow(/^W-TRAIL-26 the cold copy verifies alone/)
})

test('an archive that is lost with its copy is found', async () => {
  const { world, files } = await withArchives()
  for (const file of files) {
    world.disks.trail.remove(`cold/${file}`)
    world.disks.replica.remove(file)
  }
  await expect(lookAround(world)).rejects.toThrow(/^W-TRAIL-|lie in archives that cannot be read/)
})

test('a failing seed is shrunk to a short script that breaks the same invariant and runs from its text', async () => {
  const tamper = changed('checkpoint_created', () => ({ parent: null }))
  let seed = 1
  while (!(await simulateSeed(seed, 300, { tamper })).failure) seed++
  const actions = planOf(seed, 300)
  const failed = await simulate(seed, actions, { tamper })
  const shrunk = await shrink(seed, actions, failed, { tamper })
  expect(shrunk.actions.length).toBeLessThan(20)
  const again = await simulate(seed, actionsOf(scriptOf(shrunk.actions)), { tamper })
  expect(again.failure?.invariant).toBe(failed.failure?.invariant)
  expect((await simulate(seed, shrunk.actions)).failure).toBeUndefined()
})

test('every invariant names the requirements that it watches over', () => {
  for (const { name } of INVARIANTS) expect(name).toMatch(/^((W|A)-[A-Z0-9-]+|0\.\d)( |$)/)
  expect(new Set(INVARIANTS.map(({ name }) => name)).size).toBe(INVARIANTS.length)
})
