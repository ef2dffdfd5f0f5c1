// Batches on their way to the store: signed on a thread of their own (W-TRAIL-15), and refused with those that build on
// them (W-TRAIL-05).
import {
  type EntryId,
  formatTimestamp,
  ManualClock,
  type ObjectId,
  ParleyError,
  SeededIds,
  StrictClock,
  unwrap,
} from '@parley/core'
import { expect, onTestFinished, test } from 'vitest'
import { type EntryDraft, type ProposedEntry, stamp } from './entry.ts'
import { profileSigner } from './key-file.ts'
import { RunTrail } from './run/run-trail.ts'
import { ed25519Signer, type Signer } from './signing.ts'
import { SigningStage } from './signing-stage.ts'
import { memoryDisks, openMemoryStore } from './testing/memory/open-memory.ts'
import { ScriptedRun } from './testing/scripted-run.ts'
import { codeOf, recordsOf } from './testing/steps.ts'
import { type TestTrail, temporaryFolder, temporaryTrail } from './testing/temporary.ts'
import { Trail } from './trail.ts'

const seed = Buffer.alloc(32, 7)

const approval = (script: ScriptedRun) =>
  script.entry('task_approved', script.root, 'fallback', { approval_source: 'timeout-auto-approve' })

async function signedTrail(signer: Signer = ed25519Signer(seed)) {
  const disks = memoryDisks()
  const trusted = new Set([signer.id])
  const trail = new Trail({ store: await openMemoryStore(disks), signer, trust: () => ({ trusted }) })
  onTestFinished(() => trail.close())
  const ids = new SeededIds(1)
  const clock = new StrictClock(new ManualClock())
  const runs = await Promise.all(Array.from({ length: 20 }, () => ScriptedRun.start(trail, ids, clock)))
  return { disks, trail, runs, entry: approval }
}

test('W-TRAIL-15 many entries at once are signed on a thread of their own, and every signature is good', async () => {
  let onThread = 0
  const signer = ed25519Signer(seed)
  const counted: Signer = {
    ...signer,
    signMany: hashes => {
      onThread += hashes.length / 32
      return signer.signMany!(hashes)
    },
  }
  const { trail, runs, entry } = await signedTrail(counted)
  const answers = await Promise.all(
    Array.from({ length: 10 }, () => runs.map(script => script.append(entry(script), entry(script)))).flat(),
  )
  expect(answers.every(answer => answer.ok)).toBe(true)
  expect(onThread).toBeGreaterThan(200)
  const report = await trail.verifyAll()
  expect(report.runs.flatMap(run => run.findings)).toEqual([])
  expect(report.runs.reduce((sum, run) => sum + run.entries, 0)).toBe(20 * 21)
})

test('W-TRAIL-15 a batch that fails takes along what is being signed behind it, and the run goes on afterwards', async () => {
  const { disks, trail, runs, entry } = await signedTrail()
  disks.trail.fail('sync', { times: 4 })
  const first = runs.map(script => script.append(entry(script)))
  // The first batches are at the disk while these are still being signed.
  await new Promise(resolve => setImmediate(resolve))
  const second = runs.map(script => script.append(entry(script), entry(script)))
  const third = runs.map(script => script.append(entry(script)))
  const answers = await Promise.all([...first, ...second, ...third])
  for (const [index] of runs.entries()) {
    const own = [answers[index]!, answers[index + 20]!, answers[index + 40]!].map(answer => answer.ok)
    // Whatever failed, nothing behind it in the same run was recorded.
    expect(own.toSorted((one, other) => Number(other) - Number(one))).toEqual(own)
  }
  expect(answers.some(answer => !answer.ok)).toBe(true)
  disks.trail.mend()
  for (const script of runs) expect((await script.append(entry(script))).ok).toBe(true)
  const report = await trail.verifyAll()
  expect(report.runs.flatMap(run => run.findings)).toEqual([])
  const recorded = answers.flatMap((answer, index) => (answer.ok ? [index < 20 || index >= 40 ? 1 : 2] : []))
  expect(report.runs.reduce((sum, run) => sum + run.entries, 0)).toBe(
    40 + recorded.reduce((sum, count) => sum + count, 0),
  )
})

test('W-TRAIL-15 when the key is gone nothing is recorded, and the error says so', async () => {
  const signer = ed25519Signer(seed)
  let gone = false
  const { trail, runs, entry } = await signedTrail({
    ...signer,
    sign: hash => {
      if (gone) throw new Error('gone')
      return signer.sign(hash)
    },
    signMany: hashes => (gone ? Promise.reject(new Error('gone')) : signer.signMany!(hashes)),
  })
  gone = true
  // One is signed in place, many on a thread.
  const alone = await runs[0]!.append(entry(runs[0]!))
  expect(alone).toMatchObject({ ok: false, error: { code: 'signing_failed', retryable: true } })
  const answers = await Promise.all(runs.map(script => script.append(entry(script))))
  expect(new Set(answers.map(codeOf))).toEqual(new Set(['signing_failed']))
  gone = false
  for (const script of runs) expect((await script.append(entry(script))).ok).toBe(true)
  expect((await trail.verifyAll()).runs.flatMap(run => run.findings)).toEqual([])
})

test('W-TRAIL-15 while the signer is replaced what comes waits, and all of it gets the new one', async () => {
  const old = ed25519Signer(seed)
  const next = ed25519Signer(Buffer.alloc(32, 8))
  const store = await openMemoryStore(memoryDisks())
  const stage = new SigningStage(store, old)
  const ids = new SeededIds(1)
  const clock = new StrictClock(new ManualClock())
  const unsigned = new Trail({ store })
  const script = new ScriptedRun(unsigned, ids, clock)
  const run = new RunTrail(script.run.id, store, stage)
  onTestFinished(() => store.close())
  const append = (entry: ProposedEntry) => run.append({ entries: script.drafts([entry]) })
  const entry = () => approval(script)
  expect((await append(script.genesis())).ok).toBe(true)
  const before = [append(entry()), append(entry())]
  const during: Promise<unknown>[] = []
  await stage.replace(async replaced => {
    expect(replaced).toBe(old)
    // Everything that it has signed is durable by now.
    expect((await store.head(run.id))?.seq).toBe(3)
    during.push(append(entry()), append(entry()))
    await new Promise(resolve => setTimeout(resolve, 20))
    expect((await store.head(run.id))?.seq).toBe(3)
    return next
  })
  await Promise.all([...before, ...during])
  await append(entry())
  const { entries } = unwrap(await run.query({}))
  expect(entries.map(({ integrity }) => integrity.signer)).toEqual([
    ...Array(3).fill(old.id),
    ...Array(3).fill(next.id),
  ])
})

test('W-TRAIL-15 a signer that cannot be replaced stays; where nobody knows which one counts, nothing is signed any more', async () => {
  const { trail, entry } = await signedTrail()
  const store = await openMemoryStore(memoryDisks())
  const stage = new SigningStage(store, ed25519Signer(seed))
  onTestFinished(() => store.close())
  await expect(stage.replace(() => Promise.reject(new Error('no disk')))).rejects.toThrow('no disk')
  const script = new ScriptedRun(trail, new SeededIds(9), new StrictClock(new ManualClock()))
  const run = new RunTrail(script.run.id, store, stage)
  expect((await run.append({ entries: script.drafts([script.genesis()]) })).ok).toBe(true)
  const uncertain = new ParleyError('keys_uncertain', 'nobody knows')
  const waiting = stage.replace(() => Promise.reject(uncertain))
  const late = run.append({ entries: script.drafts([entry(script)]) })
  await expect(waiting).rejects.toBe(uncertain)
  expect(await late).toMatchObject({ ok: false, error: { code: 'keys_uncertain' } })
  expect(codeOf(await run.append({ entries: script.drafts([entry(script)]) }))).toBe('keys_uncertain')
})

function stamped(script: ScriptedRun, { strict }: Pick<TestTrail, 'strict'>): EntryDraft {
  const proposal = script.entry('checkpoint_rejected', script.root, 'protocol', { workspace: script.root })
  return stamp(proposal, script.id('e') as EntryId, formatTimestamp(strict.take()))
}

test.each([
  ['a run that was just opened', true],
  ['a run at work', false],
])('of batches that are appended together to %s, a refused one takes those behind it along', async (_run, fresh) => {
  const first = await temporaryTrail()
  const { trail, script } = fresh
    ? await first.start().then(async script => ({ script, trail: (await first.reopen()).trail }))
    : { trail: first.trail, script: await first.start() }
  const run = trail.run(script.run.id)
  const good = () => stamped(script, first)
  const bad = { ...good(), actor: '' }
  const appends = run.appendEach([good(), good(), bad, good(), good()].map(entry => ({ entries: [entry] })))
  const results = await Promise.all(appends)
  const refused = 'invalid_entry'
  expect(results.map(codeOf)).toEqual(['ok', 'ok', refused, refused, refused])
  const { seq } = await run.head()
  expect(unwrap(await run.append({ entries: [good()] })).first).toBe(seq + 1)
  const added = (await recordsOf(run)).filter(each => 'event_type' in each && each.event_type === 'checkpoint_rejected')
  expect(added).toHaveLength(3)
  expect((await run.verify()).findings).toEqual([])
})

test.each([
  ['signs', true],
  ['does not sign', false],
])('a batch that the store refuses spoils nothing that is on its way, in a trail that %s', async (_signs, signs) => {
  const profile = temporaryFolder()
  const { start, strict } = await temporaryTrail({ profile, signer: signs ? await profileSigner(profile) : null })
  const script = await start()
  const entry = () => stamped(script, { strict })
  // Each lies in the log, and together they are more than one frame holds.
  const objects = Array.from({ length: 300 }, () => ({
    id: script.id('obj') as ObjectId,
    kind: 'payload',
    value: 'x'.repeat(60_000),
  }))
  const batches = [{ entries: [entry()] }, { entries: [entry()], objects }, { entries: [entry()] }]
  const results = await Promise.all(script.run.appendEach(batches))
  expect(results.map(codeOf)).toEqual(['ok', 'batch_too_large', 'batch_too_large'])
  expect(unwrap(await script.run.append({ entries: [entry()] })).last).toBe(3)
  expect((await script.run.verify()).findings).toEqual([])
})

test('no batches at all is nothing to append', async () => {
  const { start } = await temporaryTrail()
  expect((await start()).run.appendEach([])).toEqual([])
})
