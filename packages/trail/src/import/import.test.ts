// Importing a run: all of it or nothing, readable and verifiable like one of our own, marked as not ours, and never
// added to.
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { formatTimestamp, ManualClock, SeededIds, StrictClock, type Ticks, unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { verifyExport } from '../export/verify-export.ts'
import { ed25519Signer } from '../signing.ts'
import { bytesInMemory } from '../testing/bytes.ts'
import { type MemoryDisks, memoryDisks, openMemoryStore } from '../testing/memory/open-memory.ts'
import { seededRandom } from '../testing/random.ts'
import { ScriptedRun } from '../testing/scripted-run.ts'
import { AT, codeOf, exported, goingOn, keyOf, recordsOf, sampleRun } from '../testing/steps.ts'
import { removeIndex, replaced, tamper } from '../testing/tamper.ts'
import { type TestTrail, temporaryTrail } from '../testing/temporary.ts'
import { Trail } from '../trail.ts'

/** Two profiles: one made a run, the other is to have it. */
async function two(): Promise<{ one: TestTrail; other: TestTrail; script: ScriptedRun; keys: string[] }> {
  const one = await temporaryTrail({ signs: true })
  const other = await temporaryTrail({ signs: true, ids: new SeededIds(77) })
  const script = await sampleRun(one)
  return { one, other, script, keys: [keyOf(one)] }
}

const importing = (t: TestTrail, file: Buffer, keys: readonly string[]) =>
  t.trail.import(bytesInMemory(file), { keys, at: AT })

test('an imported run is read, queried and verified like one of our own, byte for byte, also after a restart', async () => {
  const { one, other, script, keys } = await two()
  const { id } = script.run
  const own = await sampleRun(other, 3)
  const imported = unwrap(await importing(other, await exported(one, id), keys))
  expect(imported).toMatchObject({ already: false, report: { sound: true, run: id, entries: 14 } })
  let t = other
  for (let opened = 0; opened < 2; opened++) {
    if (opened > 0) t = await t.reopen()
    expect(await recordsOf(t.trail.run(id))).toEqual(await recordsOf(one.trail.run(id)))
    const query = { event_type: 'checkpoint_rejected', order: 'descending', limit: 3 } as const
    expect(unwrap(await t.trail.run(id).query(query))).toEqual(unwrap(await script.run.query(query)))
    expect(await t.trail.run(id).verify()).toMatchObject({ entries: 14, findings: [], head: await script.run.head() })
    const { runs, unreadable } = await t.trail.verifyAll()
    expect([...runs.flatMap(run => run.findings), ...unreadable]).toEqual([])
    expect(runs.map(({ run }) => run).sort()).toEqual([id, own.run.id].sort())
    const summaries = await t.trail.runs()
    expect(summaries.find(({ run }) => run === id)).toMatchObject({
      imported: { key: keys[0], at: AT, content: 'stored' },
    })
    expect(summaries.find(({ run }) => run === own.run.id)?.imported).toBeUndefined()
    expect(await t.trail.checkBlobs()).toMatchObject({ missing: [], damaged: [], garbage: [] })
  }
})

test('nothing is ever added to an imported run', async () => {
  const { one, other, script, keys } = await two()
  const { id } = script.run
  unwrap(await importing(other, await exported(one, id), keys))
  const here = goingOn(script, other)
  expect(codeOf(await here.append(here.entry('task_approved', here.root, 'fallback')))).toBe('run_imported')
  expect((await other.trail.run(id).verify()).entries).toBe(14)
})

test('the key of an imported run is good for that run only, and ours is not good for it', async () => {
  const { one, other, script, keys } = await two()
  const { id } = script.run
  const own = await sampleRun(other, 3)
  unwrap(await importing(other, await exported(one, id), keys))
  await other.trail.close()
  const foreign = ed25519Signer(Buffer.alloc(32, 5))
  // Entries of our own run, signed by somebody whose key is in the profile for another run.
  tamper(
    other.profile,
    replaced(2, entry => ({ ...entry, signer: keys[0]!, signature: foreign.sign(entry.hash) })),
  )
  const again = await other.reopen()
  const { runs } = await again.trail.verifyAll()
  expect(runs.find(({ run }) => run === own.run.id)?.findings).toMatchObject([{ seq: 2, damage: 'signature' }])
  expect(runs.find(({ run }) => run === id)?.findings).toEqual([])
})

test('the same import again changes nothing; another head of the run is refused', async () => {
  const { one, other, script, keys } = await two()
  const { id } = script.run
  const file = await exported(one, id)
  const early = await exported(one, id, { upTo: 9 })
  unwrap(await importing(other, file, keys))
  expect(unwrap(await importing(other, file, keys))).toMatchObject({ already: true })
  expect(await importing(other, early, keys)).toMatchObject({ ok: false, error: { code: 'run_exists' } })
  await script.workspace()
  const later = await exported(one, id)
  expect(await importing(other, later, keys)).toMatchObject({ ok: false, error: { code: 'run_exists' } })
  // Where it comes from it is there anyway.
  expect(unwrap(await importing(one, later, keys))).toMatchObject({ already: true })
  expect((await other.trail.run(id).verify()).entries).toBe(14)
})

test('two imports of one run at the same time: one does it', async () => {
  const { one, other, script, keys } = await two()
  const file = await exported(one, script.run.id)
  const [a, b] = await Promise.all([importing(other, file, keys), importing(other, file, keys)])
  expect(['import_running,ok', 'ok,ok']).toContain([a, b].map(codeOf).sort().join())
  expect((await other.trail.run(script.run.id).verify()).findings).toEqual([])
})

test('nothing is imported that is not sound, or not from somebody who is trusted', async () => {
  const { one, other, script, keys } = await two()
  const file = await exported(one, script.run.id)
  expect(codeOf(await importing(other, file, []))).toBe('export_untrusted')
  const stranger = ed25519Signer(Buffer.alloc(32, 9)).id
  // Undamaged, and from somebody whom nobody trusts here: that is said, with whose key is missing.
  expect(await importing(other, file, [stranger])).toMatchObject({
    ok: false,
    error: {
      code: 'export_untrusted',
      message: expect.stringContaining('The file is undamaged'),
      details: { sealed_by: expect.stringMatching(/^SHA256:/) },
    },
  })
  for (let at = 100; at < file.length; at += Math.floor(file.length / 40)) {
    const changed = Buffer.from(file)
    changed[at]! ^= 4
    expect(codeOf(await importing(other, changed, keys)), `byte ${at}`).toMatch(/^export_(damaged|unreadable)$/)
  }
  expect(await importing(other, file.subarray(0, file.length - 10), keys)).toMatchObject({ ok: false })
  expect(await other.trail.runs()).toEqual([])
  const left = readdirSync(join(other.profile, 'trail'), { recursive: true }).map(String)
  expect(left.filter(name => /^(runs|cold|imports)\b/.test(name))).toEqual(['imports'])
  expect(unwrap(await importing(other, file, keys))).toMatchObject({ already: false })
})

test('without content an imported run still verifies', async () => {
  const { one, other, script, keys } = await two()
  const { id } = script.run
  unwrap(await importing(other, await exported(one, id, { content: 'none' }), keys))
  expect(other.trail.imported(id)).toMatchObject({ content: 'none' })
  expect((await other.trail.run(id).verify()).findings).toEqual([])
  expect((await recordsOf(other.trail.run(id))).length).toBe(14)
})

test('an imported run goes on to others with all its signatures, sealed by whoever passes it on', async () => {
  const { one, other, script, keys } = await two()
  const { id } = script.run
  unwrap(await importing(other, await exported(one, id), keys))
  const passed = await exported(other, id)
  expect((await verifyExport(bytesInMemory(passed), { keys })).sound).toBe(false)
  const both = [...keys, keyOf(other)]
  const report = await verifyExport(bytesInMemory(passed), { keys: both })
  expect(report).toMatchObject({ sound: true, sealed_by: keyOf(other), signers: [{ key: keys[0] }] })
  const third = await temporaryTrail({ signs: true, ids: new SeededIds(5) })
  unwrap(await importing(third, passed, both))
  expect((await third.trail.verifyAll()).runs.flatMap(run => run.findings)).toEqual([])
})

test('an imported run that was signed by several keys, and one that retention has holes in', async () => {
  const { one, other, script } = await two()
  const first = keyOf(one)
  const worker = await script.workspace()
  for (let count = 0; count < 4; count++)
    unwrap(await script.append(script.entry('budget_warning', worker, 'protocol', { workspace_id: worker })))
  await script.state(worker, 'active', 'closed')
  unwrap(await one.trail.rotateKey(formatTimestamp(one.strict.take())))
  const { summaries } = unwrap(
    await one.trail.storage.compactWorkspace(script.run.id, worker, formatTimestamp(one.strict.take())),
  )
  unwrap(await script.append(...summaries))
  one.clock.advance(10_000)
  unwrap(await one.trail.storage.deleteArchive(script.run.id, 1, one.strict.take(), { cold: 1 }))
  const report = unwrap(await importing(other, await exported(one, script.run.id), [first])).report
  expect(report).toMatchObject({ bridged: 4, signers: [{ key: first }, { key: keyOf(one) }] })
  let t = other
  for (let opened = 0; opened < 2; opened++) {
    if (opened > 0) t = await t.reopen()
    const verified = await t.trail.run(script.run.id).verify()
    expect(verified).toMatchObject({ findings: [], entries: report.entries })
    expect(unwrap(await t.trail.run(script.run.id).query({})).entries).toHaveLength(report.entries - 4)
  }
})

test('damage of an imported run is found as damage of any other is', async () => {
  const { one, other, script, keys } = await two()
  unwrap(await importing(other, await exported(one, script.run.id), keys))
  await other.trail.close()
  rmSync(join(other.profile, 'trail', 'runs'), { recursive: true })
  removeIndex(other.profile)
  const again = await other.reopen()
  const { findings } = await again.trail.run(script.run.id).verify()
  expect(findings).toMatchObject([{ seq: 1, damage: 'truncated' }])
})

// Power loss

const START = 1_772_355_900_000_000 as Ticks

async function open(disks: MemoryDisks): Promise<Trail> {
  return new Trail({ store: await openMemoryStore(disks), signer: ed25519Signer(Buffer.alloc(32, 2)) })
}

test('a crash at any moment of an import leaves all of the run or nothing', async () => {
  const source = await temporaryTrail({ signs: true })
  const script = await sampleRun(source, 40)
  const file = await exported(source, script.run.id)
  const keys = [keyOf(source)]
  const { id } = script.run
  const random = seededRandom(21)
  const seen = new Set<string>()
  const rounds = process.env.PARLEY_SOAK ? 400 : 60
  // How many turns an import takes depends on the machine: some crashes come during it, some behind it.
  let turnsOfAnImport = 60
  for (let round = 0; round < rounds; round++) {
    const disks = memoryDisks()
    const trail = await open(disks)
    const own = await ScriptedRun.start(trail, new SeededIds(1000 + round), new StrictClock(new ManualClock(START)))
    const running = trail.import(bytesInMemory(file), { keys, at: AT })
    let settled = false
    void running.then(() => {
      settled = true
    })
    const turns = round === 0 ? Number.POSITIVE_INFINITY : Math.floor(random() * 1.2 * turnsOfAnImport)
    let turn = 0
    for (; turn < turns && !settled; turn++) await new Promise(resolve => setImmediate(resolve))
    if (settled) turnsOfAnImport = turn
    const answered = settled && (await running).ok
    const after: MemoryDisks = { trail: disks.trail.crash(random), blobs: disks.blobs.crash(random) }
    await running.catch(() => undefined)
    const again = await open(after)
    const there = (await again.runs()).some(({ run }) => run === id)
    if (answered) expect(there, `round ${round}`).toBe(true)
    expect(again.imported(id) !== undefined, `round ${round}`).toBe(there)
    if (there) {
      expect(await again.run(id).verify()).toMatchObject({ entries: 42, findings: [] })
      expect(await recordsOf(again.run(id))).toEqual(await recordsOf(source.trail.run(id)))
    } else {
      const left = [...after.trail.list('imports'), ...after.trail.list('runs')]
      expect(left, `round ${round}`).toEqual([])
      expect(unwrap(await again.import(bytesInMemory(file), { keys, at: AT }))).toMatchObject({ already: false })
    }
    expect((await again.run(own.run.id).verify()).findings).toEqual([])
    seen.add(there ? 'all' : 'nothing')
    await again.close()
  }
  expect(seen).toEqual(new Set(['all', 'nothing']))
})

test('a disk that fails or is full leaves nothing, and the import can be tried again', async () => {
  const source = await temporaryTrail({ signs: true })
  const script = await sampleRun(source)
  const file = await exported(source, script.run.id)
  const keys = [keyOf(source)]
  for (let after = 0; after < 12; after++) {
    for (const operation of ['write', 'sync', 'folder'] as const) {
      const disks = memoryDisks()
      const trail = await open(disks)
      disks.trail.fail(operation, { after, times: 1 })
      const answer = await trail.import(bytesInMemory(file), { keys, at: AT })
      disks.trail.mend()
      if (!answer.ok && answer.error.code !== 'import_unfinished') {
        const left = [...disks.trail.list('runs'), ...disks.trail.list('imports')].filter(
          name => !name.endsWith('.tmp'),
        )
        expect(left, `${operation} ${after}`).toEqual([])
        unwrap(await trail.import(bytesInMemory(file), { keys, at: AT }))
      }
      const again = await open(disks)
      expect((await again.run(script.run.id).verify()).findings, `${operation} ${after}`).toEqual([])
      expect((await again.runs()).map(({ run }) => run)).toEqual([script.run.id])
      await again.close()
    }
  }
})
