// A run as one file: what is in it, that it verifies with a public key and nothing else, and that any change of it is
// found.
import { appendFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { canonicalize, formatTimestamp, type ObjectId, ParleyError, unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { ContentCipher } from '../content/cipher.ts'
import { ContentKeys } from '../content/keys.ts'
import { ed25519Signer } from '../signing.ts'
import { bytesInMemory } from '../testing/bytes.ts'
import { seededRandom } from '../testing/random.ts'
import type { ScriptedRun } from '../testing/scripted-run.ts'
import { AT, codeOf, exported, keyOf, recordsIn, sampleRun, sourceOf } from '../testing/steps.ts'
import { edited, replaced, tamper } from '../testing/tamper.ts'
import { type TestTrail, temporaryFolder, temporaryTrail } from '../testing/temporary.ts'
import { FIRST_LINE, PART, PART_HEADER, readPartHeader } from './format.ts'
import { withFile } from './read.ts'
import { type ExportReport, type VerifyExportOptions, verifyExport } from './verify-export.ts'
import { exportRun } from './write.ts'

const signedTrail = (profile = temporaryFolder()) => temporaryTrail({ profile, signs: true })

const verified = (file: Buffer, options?: VerifyExportOptions) => verifyExport(bytesInMemory(file), options)

test('a run in one file verifies with the public key alone, finished or not', async () => {
  const t = await signedTrail()
  const script = await sampleRun(t)
  const file = await exported(t, script)
  const report = await verified(file, { keys: [keyOf(t)] })
  const head = await script.run.head()
  expect(report).toMatchObject({
    format: 'parley-run/1',
    sound: true,
    run: script.run.id,
    head,
    entries: head.seq,
    ended: false,
    content: 'stored',
    objects: 13,
    sealed_objects: 0,
    left_out: { objects: 0, bytes: 0 },
    signatures: 'trusted',
    sealed_by: keyOf(t),
    findings: [],
    problems: [],
  })
  expect(report.signers).toMatchObject([{ key: keyOf(t), entries: head.seq, trusted: true }])
  expect(file.subarray(0, 13).toString()).toBe('parley-run/1\n')
  await script.end()
  const finished = await verified(await exported(t, script), { keys: [keyOf(t)] })
  expect(finished).toMatchObject({ sound: true, ended: true })
})

test('without a key it says that nothing is proven about who made it', async () => {
  const t = await signedTrail()
  const file = await exported(t, await sampleRun(t))
  expect(await verified(file)).toMatchObject({
    sound: true,
    signatures: 'file_keys_only',
    signers: [{ trusted: false }],
  })
})

test('with another key every signature is a finding', async () => {
  const t = await signedTrail()
  const file = await exported(t, await sampleRun(t))
  const stranger = ed25519Signer(Buffer.alloc(32, 9)).id
  const report = await verified(file, { keys: [stranger] })
  expect(report.sound).toBe(false)
  expect(report.findings[0]).toMatchObject({ seq: 1, damage: 'signature', violation: 'signature_invalid' })
  expect(report.problems).toEqual([expect.stringContaining('sealed with a key that is not known')])
})

test('an unsigned trail can be exported, and its file never passes as trusted', async () => {
  const t = await temporaryTrail()
  const file = await exported(t, await sampleRun(t))
  expect(await verified(file)).toMatchObject({ sound: true, signatures: 'none', sealed_by: null })
  const report = await verified(file, { keys: [ed25519Signer(Buffer.alloc(32, 9)).id] })
  expect(report.sound).toBe(false)
  expect(report.findings[0]).toMatchObject({ seq: 1, violation: 'proof_missing' })
})

test('without content the record alone verifies, and what is left out is said', async () => {
  const t = await signedTrail()
  const script = await sampleRun(t)
  const bare = await exported(t, script, { content: 'none' })
  const report = await verified(bare, { keys: [keyOf(t)] })
  expect(report).toMatchObject({ sound: true, content: 'none', objects: 0, left_out: { objects: 13 } })
  expect(report.left_out.bytes).toBeGreaterThan(80_000)
  expect(bare.length).toBeLessThan((await exported(t, script)).length)
})

test('an export up to an earlier head is what it says, and no more', async () => {
  const t = await signedTrail()
  const script = await sampleRun(t)
  const report = await verified(await exported(t, script, { upTo: 7 }), { keys: [keyOf(t)] })
  expect(report).toMatchObject({ sound: true, head: { seq: 7 }, entries: 7 })
  expect(codeOf(await t.trail.export(script.run.id, { at: AT, upTo: 99 }))).toBe('not_found')
})

test('a head that is known from elsewhere must be in the file', async () => {
  const t = await signedTrail()
  const script = await sampleRun(t)
  const { seq, hash } = await script.run.head()
  const file = await exported(t, script, { upTo: 7 })
  const keys = [keyOf(t)]
  const known = { run: script.run.id, seq, hash: hash! }
  expect((await verified(file, { keys, heads: [known] })).findings).toMatchObject([{ seq: 8, damage: 'truncated' }])
  const forged = { run: script.run.id, seq: 7, hash: 'f'.repeat(64) }
  expect((await verified(file, { keys, heads: [forged] })).findings).toMatchObject([{ seq: 7, damage: 'rolled_back' }])
  const elsewhere = { ...forged, run: 'run_other' as typeof forged.run }
  expect((await verified(file, { keys, heads: [elsewhere] })).sound).toBe(true)
})

test('what was damaged in the trail is not exported as sound', async () => {
  const t = await signedTrail()
  const script = await sampleRun(t)
  await t.trail.close()
  tamper(
    t.profile,
    replaced(5, record => edited(record, 'invalid_parent', 'invalid_type')),
  )
  const again = await signedTrail(t.profile)
  await expect(exported(again, script)).rejects.toMatchObject({ code: 'trail_damaged' })
})

/** Where each part begins, and of which kind it is. */
function partsOf(file: Buffer): { kind: number; at: number; end: number }[] {
  const parts: { kind: number; at: number; end: number }[] = []
  for (let at = FIRST_LINE.length; at < file.length; ) {
    const frame = readPartHeader(file.subarray(at, at + PART_HEADER))!
    const end = at + PART_HEADER + frame.stored
    parts.push({ kind: frame.kind, at, end })
    at = end
  }
  return parts
}

/** Never an exception that is not a refusal, never accepted. */
async function refused(file: Buffer, options: VerifyExportOptions, what: string): Promise<ExportReport | undefined> {
  try {
    const report = await verified(file, options)
    expect(report.sound, what).toBe(false)
    return report
  } catch (cause) {
    if (!(cause instanceof ParleyError)) throw cause
    expect(['not_an_export', 'export_version', 'export_unreadable'], what).toContain(cause.code)
    return undefined
  }
}

test('a flipped bit anywhere in the file is found, with a key and without', async () => {
  const t = await signedTrail()
  const script = await t.start()
  await script.workspace()
  const file = await exported(t, script)
  const keys = [keyOf(t)]
  expect((await verified(file, { keys })).sound).toBe(true)
  const step = process.env.PARLEY_SOAK ? 1 : 3
  for (let at = 0; at < file.length; at++) {
    const changed = Buffer.from(file)
    changed[at]! ^= 1 << (at % 8)
    await refused(changed, at % step === 0 ? { keys } : {}, `byte ${at}`)
  }
})

test('a file that was cut anywhere, or that goes on behind its end, is found', async () => {
  const t = await signedTrail()
  const script = await sampleRun(t)
  const file = await exported(t, script)
  const keys = [keyOf(t)]
  const random = seededRandom(11)
  const cuts = [0, 1, 12, 13, 14, file.length - 1, ...partsOf(file).flatMap(({ at, end }) => [at, at + 20, end - 1])]
  for (let count = 0; count < (process.env.PARLEY_SOAK ? 2000 : 100); count++)
    cuts.push(Math.floor(random() * file.length))
  for (const cut of cuts) await refused(file.subarray(0, cut), { keys }, `cut at ${cut}`)
  await refused(Buffer.concat([file, Buffer.of(0)]), { keys }, 'a byte more')
  await refused(Buffer.concat([file, file.subarray(FIRST_LINE.length)]), { keys }, 'twice')
})

test('garbage of any kind is refused', async () => {
  const t = await signedTrail()
  const file = await exported(t, await sampleRun(t))
  const random = seededRandom(5)
  for (let count = 0; count < (process.env.PARLEY_SOAK ? 3000 : 200); count++) {
    const changed = Buffer.from(file)
    for (let left = 1 + Math.floor(random() * 20); left > 0; left--) {
      const at = Math.floor(random() * changed.length)
      const length = Math.min(changed.length - at, 1 + Math.floor(random() * 40))
      if (random() < 0.5) changed.copy(changed, at, Math.floor(random() * (changed.length - length)), changed.length)
      for (let index = 0; index < length; index++) changed[at + index] = Math.floor(random() * 256)
    }
    await refused(changed, { keys: [keyOf(t)] }, `garbage ${count}`)
  }
  for (const text of ['', 'parley-run/1', 'parley-run/2\n', 'parley-run/x\n', '{"format":"parley-trail/1"}\n'])
    await refused(Buffer.from(text), {}, text)
  await expect(verified(Buffer.from('parley-run/2\nxyz'))).rejects.toMatchObject({ code: 'export_version' })
})

test('parts that were left out, doubled or moved are found', async () => {
  const t = await signedTrail()
  const file = await exported(t, await sampleRun(t))
  const keys = [keyOf(t)]
  const parts = partsOf(file)
  expect(parts.map(({ kind }) => kind)).toEqual([PART.header, PART.records, PART.end, PART.seal])
  const slices = parts.map(({ at, end }) => file.subarray(at, end))
  const built = (order: readonly number[]) => Buffer.concat([FIRST_LINE, ...order.map(index => slices[index]!)])
  for (const order of ['123', '023', '013', '012', '01123', '0213', '01233', '00123'])
    await refused(built([...order].map(Number)), { keys }, order)
  expect((await verified(built([0, 1, 2, 3]), { keys })).sound).toBe(true)
})

test('a file does not take anything from another one', async () => {
  const t = await signedTrail()
  const one = await exported(t, await sampleRun(t))
  const other = await exported(t, await sampleRun(t), { upTo: 9 })
  const keys = [keyOf(t)]
  const [parts, others] = [partsOf(one), partsOf(other)]
  for (const index of [1, 2, 3]) {
    const mixed = parts.map(({ at, end }, each) => {
      const from = each === index ? others[each]! : { at, end }
      return (each === index ? other : one).subarray(from.at, from.end)
    })
    await refused(Buffer.concat([FIRST_LINE, ...mixed]), { keys }, `part ${index} of another run`)
  }
})

test('the first entry that was changed is named', async () => {
  const t = await signedTrail()
  const script = await sampleRun(t)
  const { records, head } = await recordsOf(t, script)
  const change = replaced(6, record => edited(record, 'invalid_parent', 'invalid_type'))(records)
  // Whoever holds a key of their own can seal what they like: only the entries' own signatures tell.
  const stranger = ed25519Signer(Buffer.alloc(32, 3))
  const options = { head, at: AT, keys: t.trail.keys, signer: stranger, content: 'stored' } as const
  const report = await verified(await buffer(exportRun(sourceOf(change), options)), { keys: [keyOf(t)] })
  expect(report.findings).toMatchObject([{ seq: 6, damage: 'edited', violation: 'hash_mismatch' }])
  expect(report.problems).toEqual([expect.stringContaining('not known')])
})

test('content that was changed and sealed by somebody else is not accepted from whom it claims to be', async () => {
  const t = await signedTrail()
  const script = await sampleRun(t)
  const { records, head } = await recordsOf(t, script)
  const changed = records.map(record =>
    record.kind === 'object' ? { ...record, data: canonicalize({ text: 'forged' }) } : record,
  )
  const stranger = ed25519Signer(Buffer.alloc(32, 3))
  const keys = [...t.trail.keys, { key: stranger.id, since: AT, until: null }]
  const options = { head, at: AT, keys, signer: stranger, content: 'stored' } as const
  const file = await buffer(exportRun(sourceOf(changed), options))
  expect(await verified(file, { keys: [keyOf(t)] })).toMatchObject({ sound: false, findings: [] })
  // It is sound in itself, which is why a file without a known key proves nothing.
  expect(await verified(file)).toMatchObject({ sound: true, signatures: 'file_keys_only' })
})

async function recordsOf(t: TestTrail, script: ScriptedRun) {
  const records = await recordsIn(await exported(t, script))
  const { seq, hash } = await script.run.head()
  return { records, head: { run: script.run.id, seq, hash: hash! } }
}

test('files are read from disk, and what is no file is refused', async () => {
  const t = await signedTrail()
  const file = join(t.profile, 'run.parley')
  await writeFile(file, await exported(t, await sampleRun(t)))
  expect((await withFile(file, verifyExport)).sound).toBe(true)
  await appendFile(file, 'x')
  expect((await withFile(file, verifyExport)).sound).toBe(false)
  await expect(withFile(join(t.profile, 'nothing'), verifyExport)).rejects.toMatchObject({ code: 'file_not_found' })
  await expect(withFile(t.profile, verifyExport)).rejects.toMatchObject({ code: 'file_unreadable' })
})

test('W-TRAIL-29 entries that retention has deleted are bridged, and the rest still verifies', async () => {
  const t = await signedTrail()
  const script = await t.start()
  const worker = await script.workspace()
  for (let count = 0; count < 4; count++)
    unwrap(await script.append(script.entry('budget_warning', worker, 'protocol', { workspace_id: worker })))
  // Content right behind what will be gone: it belongs to the entry that comes next.
  const content = { id: script.id('obj') as ObjectId, kind: 'payload', value: 'behind a gap' }
  const checkpoint = script.entry('checkpoint_created', worker, 'worker', { workspace: worker })
  unwrap(await script.appendWith([content], checkpoint))
  await script.state(worker, 'active', 'closed')
  const { summaries } = unwrap(
    await t.trail.storage.compactWorkspace(script.run.id, worker, formatTimestamp(t.strict.take())),
  )
  unwrap(await script.append(...summaries))
  const whole = await verified(await exported(t, script), { keys: [keyOf(t)] })
  expect(whole).toMatchObject({ sound: true, bridged: 0 })
  t.clock.advance(10_000)
  unwrap(await t.trail.storage.deleteArchive(script.run.id, 1, t.strict.take(), { cold: 1 }))
  const report = await verified(await exported(t, script), { keys: [keyOf(t)] })
  expect(report).toMatchObject({ sound: true, bridged: 4, entries: whole.entries })
})

test('sealed content goes out sealed, and opened only where that is asked for', async () => {
  const cipher = new ContentCipher(new ContentKeys(Buffer.alloc(32, 6)), 'trail')
  const t = await temporaryTrail({ signs: true, cipher })
  const script = await sampleRun(t)
  const keys = [keyOf(t)]
  const sealed = await exported(t, script)
  expect(await verified(sealed, { keys })).toMatchObject({ sound: true, objects: 13, sealed_objects: 13 })
  const opened = await exported(t, script, { content: 'opened' })
  expect(await verified(opened, { keys })).toMatchObject({ sound: true, content: 'opened', sealed_objects: 0 })
  const data = '{"text":"secret 3"}'
  expect(await recordsIn(opened)).toContainEqual(expect.objectContaining({ kind: 'object', data }))
})
