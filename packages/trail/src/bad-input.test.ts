// Bad input and broken surroundings: each gets its own clear error, and nothing that was acknowledged is lost.
import { spawn } from 'node:child_process'
import {
  appendFileSync,
  chmodSync,
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { crc32 } from 'node:zlib'
import { formatTimestamp, parseTimestamp, SeededIds, type Ticks, unwrap } from '@parley/core'
import { describe, expect, test } from 'vitest'
import type { EntryDraft, TrailObject } from './entry.ts'
import { profileSigner } from './key-file.ts'
import { FRAME_HEADER } from './log/frame.ts'
import { readSegmentHeader, SEGMENT_HEADER, writeSegmentHeader } from './log/segment.ts'
import { walkFrames } from './log/walk.ts'
import { openTrail } from './open-trail.ts'
import { memoryDisks, openMemoryStore } from './testing/memory/open-memory.ts'
import { ScriptedRun } from './testing/scripted-run.ts'
import { codeOf, filledTrail, goingOn, memoryTrail } from './testing/steps.ts'
import { temporaryFolder, temporaryTrail } from './testing/temporary.ts'
import { Trail } from './trail.ts'

const segmentOf = (profile: string) => join(profile, 'trail', '00000001.seg')

describe('drafts', () => {
  test('W-TRAIL-07 time that does not advance in its workspace is refused, and the run goes on', async () => {
    const { script, worker } = await filledTrail(3)
    const [draft] = script.drafts([script.entry('checkpoint_created', worker, 'worker', { workspace: worker })])
    const last = unwrap(await script.run.query({ workspace: worker, order: 'descending', limit: 1 })).entries[0]!
    const earlier = (ticks: number) => formatTimestamp((parseTimestamp(last.timestamp)! - ticks) as Ticks)
    for (const timestamp of [last.timestamp, earlier(1)]) {
      const refused = await script.run.append({
        entries: [{ ...draft!, timestamp, body: { ...draft!.body, timestamp } } as EntryDraft],
      })
      expect(refused).toMatchObject({ ok: false, error: { code: 'non_monotonic_timestamp', retryable: false } })
    }
    unwrap(await script.run.append({ entries: [draft!] }))
    expect((await script.run.verify()).entries).toBe(4)
  })

  test.each([
    ['invalid_entry', { id: '' }],
    ['invalid_entry', { timestamp: '2026-03-01 09:05' }],
    ['invalid_entry', { workspace: 'ws_unknown' }],
    ['invalid_entry', { workspace: null }],
    ['invalid_entry', { actor: 'coordinator' }],
    ['invalid_entry', { actor: 'protocol' }],
    ['invalid_body', { body: [] }],
    ['unknown_event_type', { event_type: 'workspace_painted' }],
  ])('a header that breaks a rule is refused with %s: %j', async (code, change) => {
    const { script, worker } = await filledTrail(2)
    const [draft] = script.drafts([script.entry('checkpoint_created', worker, 'worker', { workspace: worker })])
    expect(codeOf(await script.run.append({ entries: [{ ...draft!, ...change } as EntryDraft] }))).toBe(code)
    expect((await script.run.head()).seq).toBe(2)
  })

  test('W-TRAIL-13 nothing comes before the root, and only what changes nothing comes after its end', async () => {
    const first = await temporaryTrail()
    const script = new ScriptedRun(first.trail, first.ids, first.strict)
    expect(codeOf(await script.append(script.entry('user_created', null, 'system')))).toBe('not_initialized')
    unwrap(await script.append(script.genesis()))
    await script.end()
    const late = script.entry('checkpoint_created', script.root, 'worker', { workspace: script.root })
    expect(await script.append(late)).toMatchObject({ ok: false, error: { code: 'invalid_entry' } })
    expect(codeOf(await script.append(script.entry('user_created', null, 'system')))).toBe('invalid_entry')
    unwrap(await script.append(script.entry('integrity_violation', null, 'protocol')))
    expect((await script.run.verify()).entries).toBe(3)
  })

  test('W-TRAIL-08 nothing is filed under a terminal workspace any more; the entry is system-level instead', async () => {
    const { script, worker } = await filledTrail(2)
    await script.state(worker, 'active', 'failed')
    const body = { from: worker, type: 'complete' } as const
    expect(codeOf(await script.append(script.entry('signal_emitted', worker, 'worker', body)))).toBe('invalid_entry')
    unwrap(await script.append(script.entry('signal_emitted', null, 'worker', body)))
    const local = unwrap(await script.run.query({ workspace: worker })).entries
    expect(local.at(-1)).toMatchObject({ event_type: 'workspace_state_changed', body: { to_state: 'failed' } })
  })

  test('a batch is taken whole or not at all', async () => {
    const { script, worker } = await filledTrail(2)
    const good = script.entry('checkpoint_created', worker, 'worker', { workspace: worker })
    const bad = script.entry('checkpoint_created', null, 'worker', { workspace: worker })
    expect(await script.append(good, bad, good)).toMatchObject({ ok: false })
    expect((await script.run.head()).seq).toBe(2)
    unwrap(await script.append(good, good))
    expect(await script.run.verify()).toMatchObject({ entries: 4, findings: [] })
  })
})

describe('runs', () => {
  test('a run that was released takes nothing more; opened again it goes on where it was', async () => {
    const { first, script } = await filledTrail(3)
    const proposal = script.entry('user_created', null, 'system')
    // A batch is still on its way to disk when the run is released.
    let settled = 0
    const onItsWay = script.append(proposal).then(result => {
      settled = unwrap(result).last
    })
    await first.trail.release(script.run.id)
    expect(settled).toBe(4)
    await onItsWay
    expect(await script.append(proposal)).toMatchObject({ ok: false, error: { code: 'run_released' } })
    const again = goingOn(script, first)
    expect(unwrap(await again.append(proposal)).last).toBe(5)
    expect(await again.run.verify()).toMatchObject({ entries: 5, findings: [] })
  })

  test('an object without canonical form is refused with its batch', async () => {
    const { script } = await filledTrail(2)
    const proposal = script.entry('user_created', null, 'system')
    for (const object of [
      { id: 'o', kind: 'x', value: Number.NaN },
      { id: '', kind: 'x', value: 1 },
      { id: 'o', kind: ' ', value: 1 },
    ]) {
      const refused = await script.appendWith([object as TrailObject], proposal)
      expect(refused).toMatchObject({ ok: false, error: { code: 'invalid_object' } })
    }
    expect((await script.run.head()).seq).toBe(2)
  })
})

describe('surroundings', () => {
  test('a second opener of the same folder is told who has it, and does no harm', async () => {
    const { first, script } = await filledTrail(3)
    const inUse = { code: 'trail_in_use', retryable: false, message: expect.stringContaining(String(process.pid)) }
    await expect(openTrail(first.profile)).rejects.toMatchObject(inUse)
    const appender = fileURLToPath(new URL('./testing/appender.ts', import.meta.url))
    const child = spawn(process.execPath, [...process.execArgv, appender, first.profile, '1'], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const output = (await Promise.all([child.stdout, child.stderr].map(stream => stream.toArray()))).flat().join('')
    expect(output).toContain('trail_in_use')
    expect(output).not.toContain('ready')
    await script.checkpoint(await script.workspace())
    expect((await script.run.verify()).findings).toEqual([])
  })

  test('a full disk is said to be full, loses nothing, and is no problem once there is space again', async () => {
    const { disks, store, start } = await memoryTrail(memoryDisks(), { firstSegmentBytes: 4096, segmentBytes: 4096 })
    const script = await start()
    const proposal = script.entry('checkpoint_rejected', script.root, 'protocol', { workspace: script.root })
    disks.trail.capacity = 16_000
    let acknowledged = 1
    let result = await script.append(proposal)
    for (; result.ok; acknowledged++) result = await script.append(proposal)
    expect(acknowledged).toBeGreaterThan(5)
    for (const refused of [result, await script.append(proposal)])
      expect(refused).toMatchObject({ error: { code: 'trail_full', retryable: true } })
    disks.trail.mend()
    expect(unwrap(await script.append(proposal)).last).toBe(acknowledged + 1)
    await store.close()
    const again = new Trail({ store: await openMemoryStore(disks) })
    expect(await again.run(script.run.id).verify()).toMatchObject({ entries: acknowledged + 1, findings: [] })
    await again.close()
  })

  test('a folder that cannot be written is said to be read-only', async () => {
    const profile = join(temporaryFolder(), 'locked')
    await (await openTrail(profile)).close()
    const before = readdirSync(join(profile, 'trail'))
    const folders = [join(profile, 'trail'), join(profile, 'blobs'), profile]
    for (const folder of folders) chmodSync(folder, 0o555)
    for (const file of ['lock', 'owner']) chmodSync(join(profile, 'trail', file), 0o444)
    chmodSync(join(profile, '..'), 0o755)
    const root = process.geteuid?.() === 0
    // Root may write anywhere: become somebody else for a moment.
    if (root) process.seteuid!(65_534)
    try {
      const readOnly = { code: 'trail_read_only', message: expect.stringContaining(profile) }
      await expect(openTrail(profile)).rejects.toMatchObject(readOnly)
    } finally {
      if (root) process.seteuid!(0)
      for (const folder of folders) chmodSync(folder, 0o755)
    }
    expect(readdirSync(join(profile, 'trail'))).toEqual(before)
  })

  test('a file in the place of the folder is said to be one', async () => {
    const profile = join(temporaryFolder(), 'file')
    writeFileSync(profile, 'not a folder')
    await expect(openTrail(profile)).rejects.toMatchObject({ code: 'trail_not_a_folder' })
    expect(readFileSync(profile, 'utf8')).toBe('not a folder')
  })

  test('what is written is for its owner alone, except the public key', async () => {
    const profile = join(temporaryFolder(), 'fresh')
    const { start, trail } = await temporaryTrail({ profile, signer: await profileSigner(profile) })
    const script = await start()
    const object = { id: 'large' as never, kind: 'payload', value: 'x'.repeat(100_000) }
    unwrap(await script.appendWith([object], script.entry('user_created', null, 'system')))
    unwrap(await script.run.query({}))
    await trail.close()
    const paths = readdirSync(profile, { recursive: true, withFileTypes: true })
    const open = paths.filter(path => {
      const { mode } = statSync(join(path.parentPath, path.name))
      return (mode & 0o777) !== (path.isDirectory() ? 0o700 : 0o600)
    })
    expect(open.map(path => path.name)).toEqual(['alp_key.pub'])
    expect(paths.length).toBeGreaterThan(10)
  })
})

describe('the log', () => {
  test('a torn last commit is put aside, and everything before it stays', async () => {
    const { first, script } = await filledTrail(5)
    await first.trail.close()
    const file = segmentOf(first.profile)
    const sound = statSync(file).size
    // What a commit that never finished may leave: a frame's beginning, and a stretch of another piece of it.
    const frame = readFileSync(file).subarray(SEGMENT_HEADER, SEGMENT_HEADER + 200)
    appendFileSync(file, frame)
    const { trail } = await first.reopen()
    expect(trail.damage).toEqual([])
    expect(await trail.run(script.run.id).verify()).toMatchObject({ entries: 5, findings: [] })
    const aside = join(first.profile, 'trail', 'quarantine')
    expect(readdirSync(aside)).toEqual([`00000001.seg.${sound}.torn`])
    expect(readFileSync(join(aside, `00000001.seg.${sound}.torn`)).equals(frame)).toBe(true)
    expect(statSync(file).size).toBe(sound)
  })

  test('damage that is more than one torn commit is reported, and nothing is cut', async () => {
    const { first } = await filledTrail(6)
    await first.trail.close()
    const file = segmentOf(first.profile)
    const bytes = readFileSync(file)
    // The last three commits, each spoiled in its payload.
    const frames = [...walkFrames((at, length) => bytes.subarray(at, at + length), SEGMENT_HEADER, bytes.length)]
    for (const frame of frames.slice(-3)) bytes[frame.at + FRAME_HEADER + 40]! ^= 1
    writeFileSync(file, bytes)
    const { trail } = await first.reopen()
    expect(trail.damage).toMatchObject([{ code: 'frame_damaged' }, { code: 'trail_truncated' }])
    expect(readFileSync(file).equals(bytes)).toBe(true)
    expect(existsSync(join(first.profile, 'trail', 'quarantine'))).toBe(false)
    // What is new goes into a segment of its own.
    await ScriptedRun.start(trail, new SeededIds(8), first.strict)
    expect(readFileSync(file).equals(bytes)).toBe(true)
  })

  test('a log of another version of the format is left alone', async () => {
    const { first } = await filledTrail(3)
    await first.trail.close()
    const file = segmentOf(first.profile)
    const bytes = readFileSync(file)
    bytes.writeUInt32LE(99, 4)
    bytes.writeUInt32LE(crc32(bytes.subarray(0, SEGMENT_HEADER - 4)), SEGMENT_HEADER - 4)
    writeFileSync(file, bytes)
    await expect(openTrail(first.profile)).rejects.toMatchObject({ code: 'trail_version', details: { version: 99 } })
    expect(readFileSync(file).equals(bytes)).toBe(true)
  })

  test('a segment cut short is noticed: what was acknowledged is known to be missing, and the run is halted', async () => {
    const { first, script } = await filledTrail(6)
    await first.trail.close()
    const file = segmentOf(first.profile)
    const backup = readFileSync(file)
    truncateSync(file, backup.length - 100)
    const { trail } = await first.reopen()
    expect(trail.damage).toMatchObject([{ code: 'trail_truncated', runs: [script.run.id] }])
    const truncated = { entries: 5, findings: [{ seq: 6, damage: 'truncated' }] }
    expect(await trail.run(script.run.id).verify()).toMatchObject(truncated)
    const other = await ScriptedRun.start(trail, new SeededIds(9), first.strict)
    expect((await other.run.head()).seq).toBe(1)
    // It is still known after another restart.
    await trail.close()
    const again = await first.reopen()
    expect(again.trail.damage).toMatchObject([{ code: 'trail_truncated' }])
    // With the log restored from a backup the run goes on; what was written since the backup is missed in its turn.
    await again.trail.close()
    writeFileSync(file, backup)
    for (const name of readdirSync(join(first.profile, 'trail')))
      if (name.endsWith('.seg') && name !== '00000001.seg') rmSync(join(first.profile, 'trail', name))
    const restored = await first.reopen()
    expect(restored.trail.damage).toMatchObject([{ code: 'trail_truncated', runs: [other.run.id] }])
    const going = goingOn(script, restored)
    expect(unwrap(await going.append(going.entry('user_created', null, 'system'))).last).toBe(7)
  })

  test('a flipped byte in the middle is named by its place; sound runs go on', async () => {
    const { first, script } = await filledTrail(6)
    const other = await first.start()
    await first.trail.close()
    const file = segmentOf(first.profile)
    const bytes = readFileSync(file)
    const place = bytes.indexOf('"checkpoint_created"') + 3
    bytes[place] = bytes[place]! ^ 1
    writeFileSync(file, bytes)
    const { trail } = await first.reopen()
    expect(trail.damage).toMatchObject([{ code: 'frame_damaged' }])
    expect(trail.damage[0]!.message).toMatch(/00000001\.seg is damaged from byte \d+ to \d+/)
    const report = await trail.verifyAll()
    expect(report.unreadable).toHaveLength(1)
    const byRun = new Map(report.runs.map(each => [each.run, each.findings]))
    expect(byRun.get(script.run.id)).toMatchObject([{ seq: 4, damage: 'missing', violation: 'chain_broken' }])
    expect(byRun.get(other.run.id)).toEqual([])
    const refused = await trail.run(script.run.id).append({ entries: [{} as never] })
    expect(refused).toMatchObject({ ok: false, error: { code: 'trail_damaged' } })
    const going = goingOn(other, { ...first, trail })
    unwrap(await going.append(going.entry('checkpoint_rejected', going.root, 'protocol', { workspace: going.root })))
  })

  test('a segment of another trail is left alone and named', async () => {
    const { first, script } = await filledTrail(3)
    const foreign = await filledTrail(4)
    await foreign.first.trail.close()
    await first.trail.close()
    const bytes = readFileSync(segmentOf(foreign.first.profile))
    writeSegmentHeader(bytes, { ...readSegmentHeader(bytes)!, segment: 7 })
    const stray = join(first.profile, 'trail', '00000007.seg')
    writeFileSync(stray, bytes)
    const { trail } = await first.reopen()
    expect(trail.damage).toMatchObject([{ code: 'segment_foreign' }])
    expect(trail.damage[0]!.message).toContain('00000007.seg')
    expect(await trail.run(script.run.id).verify()).toMatchObject({ entries: 3, findings: [] })
    expect(readFileSync(stray).equals(bytes)).toBe(true)
  })

  test('after a failed sync the segment ends where it was durable and the batch is in a new one', async () => {
    const { disks, store, start } = await memoryTrail()
    const script = await start()
    expect(disks.trail.open('00000001.seg', 'existing').size).toBeGreaterThan(FRAME_HEADER)
    disks.trail.fail('sync')
    const proposal = script.entry('checkpoint_rejected', script.root, 'protocol', { workspace: script.root })
    unwrap(await script.append(proposal))
    const header = readSegmentHeader(disks.trail.open('00000002.seg', 'existing').read(0, SEGMENT_HEADER))
    const { size: previousEnd } = disks.trail.open('00000001.seg', 'existing')
    expect(header).toMatchObject({ segment: 2, previous: 1, previousEnd })
    disks.trail.fail('sync', { times: 10 })
    expect(await script.append(proposal)).toMatchObject({ error: { code: 'trail_unavailable', retryable: true } })
    disks.trail.mend()
    unwrap(await script.append(proposal))
    expect(await script.run.verify()).toMatchObject({ entries: 3, findings: [] })
    await store.close()
  })
})

describe('the index', () => {
  const indexFiles = (profile: string) => readdirSync(profile).filter(name => name.startsWith('trail.index.db'))

  test.each(['deleted', 'garbage', 'of another trail'])('an index that is %s is made again from the log', async how => {
    const { first, script } = await filledTrail(5)
    await first.trail.close()
    const foreign = await filledTrail(9)
    await foreign.first.trail.close()
    for (const name of indexFiles(first.profile)) rmSync(join(first.profile, name))
    const file = join(first.profile, 'trail.index.db')
    if (how === 'garbage') writeFileSync(file, 'this is not a database'.repeat(100))
    if (how === 'of another trail') cpSync(join(foreign.first.profile, 'trail.index.db'), file)
    const { trail } = await first.reopen()
    expect(trail.damage).toEqual([])
    expect(unwrap(await trail.run(script.run.id).query({})).entries).toHaveLength(5)
    expect(await trail.runs()).toHaveLength(1)
    expect(existsSync(file)).toBe(true)
  })
})
