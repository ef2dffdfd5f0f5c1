// What people do to the record while the node is at work, so that faults hit that too: compaction, export, import,
// rotation, snapshots, restore. One line of the table for each; what is acknowledged goes into the journal.
import { existsSync, globSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { verifyExportFile } from '@parley/node'
import type { Dice } from '../sim/random.ts'
import type { Clients } from './client.ts'
import { said } from './client.ts'
import type { Journal, ToldRun } from './journal.ts'
import { faultTimes } from './limits.ts'
import type { ForeignRun } from './work.ts'
import type { World } from './world.ts'

export interface Stage {
  readonly world: World
  readonly journal: Journal
  readonly clients: Clients
  readonly dice: Dice
  /** Runs that wait to be imported. */
  readonly foreign: ForeignRun[]
}

type Act = (stage: Stage) => Promise<void>

const mutation = { type: 'mutation', timeout: faultTimes.call } as const
const query = { type: 'query', timeout: faultTimes.call } as const

export const ACTS = {
  compact: async ({ clients }) => {
    await clients.ask('compact', client => client.invoke('trail', 'compact', {}, mutation))
  },
  export: async stage => {
    const told = stage.dice.maybe([...stage.journal.runs.values()])
    if (told) await exported(stage, told)
  },
  import: async ({ world, clients, journal, foreign }) => {
    const next = foreign[0]
    if (!next) return
    const taken = await clients.ask(
      `import of ${next.run}`,
      client => client.invoke('trail', 'import', { file: next.file, keys: [next.key] }, mutation),
      code => {
        world.unfinished ||= code === 'import_unfinished'
      },
    )
    if (!taken) return
    foreign.shift()
    journal.imported.add(taken.run)
  },
  rotate: async ({ clients, journal }) => {
    const rotated = await clients.ask('rotation of the key', client =>
      client.invoke('trail', 'rotate-key', {}, mutation),
    )
    if (rotated) journal.keys.push(rotated.new.key)
  },
  snapshot: async ({ clients, journal, dice }) => {
    const told = dice.maybe([...journal.runs.values()].filter(({ over }) => over))
    if (!told) return
    const taken = await clients.ask(`snapshot of ${told.run}`, client =>
      client.invoke('trail', 'snapshot', { run: told.run }, mutation),
    )
    if (taken) journal.snapshots.set(taken.snapshot, told.run)
  },
  restore,
  heads,
  inject: async ({ clients, journal, dice }) => {
    const told = dice.maybe(journal.atWork)
    if (!told) return
    const sent = await clients.ask(`letter to ${told.run}`, client =>
      client.invoke('highway', 'inject', { run: told.run, text: 'Go on.' }, mutation),
    )
    if (sent) journal.envelopes.set(sent.envelope, told.run)
  },
  /** A clean stop, and another start: while something fails, either may be refused. */
  restart: async ({ world, journal }) => {
    if (!world.client) return
    const kept = await world.stop()
    if (kept) return journal.note(`stop: ${said(kept)}`)
    const refused = await world.start()
    if (refused) journal.note(world.refusal(refused))
  },
  tiers: async ({ clients }) => {
    await clients.ask('tiers', client => client.invoke('trail', 'tiers', {}, query))
  },
  verify: async ({ clients, journal, dice }) => {
    const told = dice.maybe([...journal.runs.values()])
    if (!told) return
    // What it finds while a fault is on may be the fault; after it, `check.ts` asks again.
    await clients.ask(`verify ${told.run}`, client => client.invoke('trail', 'verify', { run: told.run }, query))
  },
} satisfies Readonly<Record<string, Act>>
export type ActName = keyof typeof ACTS

/** A file that came over completely verifies, with the keys that the node has told. */
async function exported({ world, journal }: Stage, { run, entries }: ToldRun): Promise<void> {
  const { client } = world
  if (!client) return
  const folder = join(world.folder, 'exports')
  mkdirSync(folder, { recursive: true })
  const file = join(folder, `${run}.parley`)
  try {
    const pieces: Buffer[] = []
    let complete = false
    const onEnd = (aborted: boolean) => {
      complete = !aborted
    }
    const options = { timeout: faultTimes.call, buffer: 64, onEnd }
    for await (const { data } of client.subscribe('trail', 'pack', { run }, options))
      pieces.push(Buffer.from(data, 'base64'))
    if (!complete) return journal.note(`export of ${run}: broken off`)
    writeFileSync(file, Buffer.concat(pieces))
  } catch (thrown) {
    return journal.note(`export of ${run}: ${said(thrown)}`)
  }
  const { sound, problems, head } = await verifyExportFile(file)
  if (!sound) journal.found(`an export of ${run} is not sound: ${JSON.stringify(problems)}`)
  else if (head) {
    const told = entries.get(head.seq)
    if (told && told.hash !== head.hash) journal.found(`an export of ${run} has another entry ${head.seq}`)
    journal.note(`export of ${run}: sound up to ${head.seq}`)
  }
}

/** An archive is gone, and comes back from the replica. */
async function restore({ world, journal, clients, dice }: Stage): Promise<void> {
  const { replica, profile } = world
  if (replica === undefined) return
  const copied = globSync('run_*/*.zst', { cwd: join(profile, 'trail', 'cold') }).filter(name =>
    existsSync(join(replica, name)),
  )
  const gone = dice.maybe(copied.toSorted())
  if (gone !== undefined && !gone.endsWith('.json.zst')) {
    try {
      rmSync(join(profile, 'trail', 'cold', gone), { force: true })
      world.lacking = true
    } catch (thrown) {
      // The disk may be read-only just now.
      journal.note(`taking ${gone} away: ${said(thrown)}`)
    }
  }
  await restored({ world, clients })
}

/** Puts back what was taken away, if anything was. */
export async function restored({ world, clients }: Pick<Stage, 'world' | 'clients'>): Promise<void> {
  const answer = await clients.ask('restore', client => client.invoke('trail', 'restore', {}, mutation))
  if (answer && answer.lost.length === 0) world.lacking = false
}

export async function heads({ world, journal }: Pick<Stage, 'world' | 'journal'>): Promise<void> {
  const { client } = world
  if (!client) return
  try {
    for await (const { heads } of client.subscribe('trail', 'heads', {}, { timeout: faultTimes.call, buffer: 64 }))
      for (const { run, seq, hash } of heads) journal.head(run, seq, hash)
  } catch (thrown) {
    journal.note(`heads: ${said(thrown)}`)
  }
}
