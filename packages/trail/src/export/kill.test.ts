// Real processes that are really killed: while the key is being replaced, and while a run is being imported. And
// memory: a long run passes through in a bounded part of it.
import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { createWriteStream, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import {
  type EntryId,
  formatTimestamp,
  type ObjectId,
  type RunId,
  type Ticks,
  unwrap,
  type WorkspaceId,
} from '@parley/core'
import { expect, onTestFinished, test } from 'vitest'
import type { EntryDraft, StoredRecord } from '../entry.ts'
import { link } from '../run/chain.ts'
import { ed25519Signer } from '../signing.ts'
import { exampleBody, exampleGenesis } from '../testing/examples.ts'
import { seededRandom } from '../testing/random.ts'
import { temporaryFolder, temporaryTrail } from '../testing/temporary.ts'
import { workerArguments } from '../worker.ts'
import { withFile } from './read.ts'
import { verifyExport } from './verify-export.ts'
import { exportRun } from './write.ts'

const SOAK = process.env.PARLEY_SOAK !== undefined
const SCRIPTS = join(import.meta.dirname, '..', 'testing')

/** A script of ours in a process of its own, once it has said that it is ready. */
async function started(script: string, args: readonly string[]) {
  const child = spawn(process.execPath, [...workerArguments(), join(SCRIPTS, script), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  let output = ''
  await new Promise<void>((resolve, reject) => {
    child.stdout!.on('data', chunk => {
      output += String(chunk)
      if (output.includes('ready')) resolve()
    })
    child.once('exit', code => reject(new Error(`it ended with ${code}`)))
  })
  return { child, output: () => output }
}

async function killed(child: ChildProcess, after: number): Promise<void> {
  const ended = new Promise(resolve => child.once('close', resolve))
  setTimeout(() => child.kill('SIGKILL'), after)
  await ended
}

test('W-TRAIL-15 a process that is killed while it replaces its key loses no key, no entry and no signature', async () => {
  const profile = temporaryFolder()
  const random = seededRandom(8)
  let keys = 0
  for (let round = 0; round < (SOAK ? 100 : 4); round++) {
    const { child, output } = await started('rotator.ts', [profile, String(round)])
    await killed(child, 20 + random() * 150)
    const acknowledged = Number(output().trim().split('\n').at(-1)) || 0
    const t = await temporaryTrail({ profile, signs: true })
    const { runs, unreadable } = await t.trail.verifyAll()
    expect([...runs.flatMap(run => run.findings), ...unreadable], `round ${round}`).toEqual([])
    expect(Math.max(...runs.map(run => run.entries))).toBeGreaterThanOrEqual(acknowledged)
    expect(t.trail.keys.length).toBeGreaterThanOrEqual(keys)
    keys = t.trail.keys.length
    const secrets = readdirSync(join(profile, 'alp', 'secrets'))
    expect(secrets.filter(name => !name.endsWith('.tmp')).sort()).toEqual(['alp_key.pem', 'alp_key.pub'])
    await t.trail.close()
  }
  expect(keys).toBeGreaterThan(4)
})

const RUN = 'run_long' as RunId
const ROOT = 'ws_root' as WorkspaceId
const signer = ed25519Signer(Buffer.alloc(32, 4))

/** A long run that is nowhere: each record is made when it is asked for. */
function longRun(entries: number, objectBytes: number) {
  const start = 1_772_355_900_000_000
  let last: string | null = null
  let local: string | null = null
  const entry = (seq: number): StoredRecord => {
    const timestamp = formatTimestamp((start + seq) as Ticks)
    const draft = {
      id: `e_${seq}` as EntryId,
      timestamp,
      workspace: ROOT,
      actor: 'protocol',
      ...(seq === 1
        ? {
            event_type: 'workspace_created',
            body: exampleGenesis({ workspace_id: ROOT, owner: 'o', originator: 'system' }),
          }
        : {
            event_type: 'checkpoint_rejected',
            body: { ...exampleBody('checkpoint_rejected', { workspace: ROOT }), timestamp },
          }),
    } as EntryDraft
    const { view, hash, localHash } = link(draft, last, local)
    last = hash
    local = localHash ?? null
    return { kind: 'entry', run: RUN, seq, view, hash, signature: signer.sign(hash), signer: signer.id }
  }
  const records = async function* (): AsyncGenerator<StoredRecord> {
    last = null
    local = null
    for (let seq = 1; seq <= entries; seq++) {
      const data = JSON.stringify(randomBytes(objectBytes).toString('base64'))
      if (seq > 1) yield { kind: 'object', run: RUN, seq, id: `obj_${seq}` as ObjectId, objectKind: 'payload', data }
      yield entry(seq)
      if (seq % 64 === 0) await new Promise(resolve => setImmediate(resolve))
    }
  }
  return { records, head: () => ({ run: RUN, seq: entries, hash: last! }) }
}

/** Writes the long run as a file; its head is known only when it was made once. */
async function longFile(file: string, entries: number, objectBytes: number): Promise<void> {
  const run = longRun(entries, objectBytes)
  const probe = longRun(entries, 1)
  for await (const _ of probe.records());
  const keys = [{ key: signer.id, since: null, until: null }]
  const at = formatTimestamp(1_772_355_900_000_000 as Ticks)
  const source = { replay: run.records, tiers: { manifests: async () => [] } }
  const parts = exportRun(source, { head: probe.head(), at, keys, signer, content: 'stored' })
  await pipeline(Readable.from(parts), createWriteStream(file))
}

/**
 * The most memory that is really held while something goes on, above what was before: garbage is collected before each
 * look.
 */
async function peak(work: () => Promise<unknown>): Promise<number> {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const held = () => {
    collect()
    // Buffers that the first one found dead are swept beside it, and counted until then; the second one waits for that.
    collect()
    const { heapUsed, arrayBuffers } = process.memoryUsage()
    return heapUsed + arrayBuffers
  }
  const before = held()
  let most = 0
  const timer = setInterval(() => {
    most = Math.max(most, held() - before)
  }, 250)
  await work()
  clearInterval(timer)
  return most
}

const MiB = 1024 * 1024

test('a long run is exported, verified and imported in a bounded part of its size', async () => {
  const folder = temporaryFolder()
  const file = join(folder, 'long.parley')
  const entries = SOAK ? 1_000_000 : 6000
  // More than 100 MiB of content in the short form.
  const objectBytes = SOAK ? 120 : 16_000
  const writing = await peak(() => longFile(file, entries, objectBytes))
  const keys = [signer.id]
  const verifying = await peak(async () => {
    const report = await withFile(file, source => verifyExport(source, { keys }))
    expect(report).toMatchObject({ sound: true, entries, objects: entries - 1, findings: [], problems: [] })
  })
  const t = await temporaryTrail({ signs: true })
  const at = formatTimestamp(t.strict.take())
  const importing = await peak(async () => {
    unwrap(await withFile(file, source => t.trail.import(source, { keys, at })))
  })
  expect((await t.trail.runs())[0]).toMatchObject({ run: RUN, entries, imported: {} })
  for (const [what, bytes] of Object.entries({ writing, verifying, importing }))
    expect(bytes / MiB, what).toBeLessThan(SOAK ? 128 : 32)
}, 1_800_000)

test('a process that is killed while it imports leaves all of the run or nothing', async () => {
  const folder = temporaryFolder()
  const file = join(folder, 'long.parley')
  await longFile(file, 4000, 1800)
  const random = seededRandom(9)
  const seen = new Set<boolean>()
  for (let round = 0; round < (SOAK ? 60 : 5); round++) {
    const profile = temporaryFolder()
    const { child, output } = await started('importer.ts', [profile, file, signer.id])
    await killed(child, round === 0 ? 30_000 : random() * 1200)
    const t = await temporaryTrail({ profile, signs: true })
    const [run] = await t.trail.runs()
    if (output().includes('imported')) expect(run).toBeDefined()
    if (run) {
      expect(run).toMatchObject({ run: RUN, entries: 4000, imported: { key: signer.id } })
      expect((await t.trail.run(RUN).verify()).findings).toEqual([])
    } else {
      expect(t.trail.imported(RUN)).toBeUndefined()
      const left = readdirSync(join(profile, 'trail'), { recursive: true }).map(String)
      expect(left.filter(name => /^(runs|imports)\//.test(name))).toEqual([])
    }
    seen.add(run !== undefined)
    await t.trail.close()
  }
  expect(seen.has(true)).toBe(true)
})
