// The verifier that shares no code with the trail, over profiles that the real trail wrote: sound ones in all tiers,
// and every kind of damage, each against what the trail's own verification says of it.
import { spawnSync } from 'node:child_process'
import { createHash, createPrivateKey } from 'node:crypto'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { crc32, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import {
  formatTimestamp,
  ManualClock,
  type ObjectId,
  type RunId,
  SeededIds,
  StrictClock,
  type Ticks,
  unwrap,
} from '@parley/core'
import { openTrail, type Trail, withFile } from '@parley/trail'
import {
  ed25519Signer,
  edited,
  type OpenTrailOptions,
  ScriptedRun,
  type Signer,
  type StoredEntry,
  tamper,
} from '@parley/trail/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

const SCRIPT = join(import.meta.dirname, 'verify-trail.mjs')
const SIZES = { firstSegmentBytes: 16 * 1024, segmentBytes: 32 * 1024 }
const DAY = 24 * 3600 * 1000
const RETENTION = { warm: DAY, cold: DAY }
const folder = mkdtempSync(join(tmpdir(), 'parley-verify-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const clock = new ManualClock(1_772_355_900_000_000 as Ticks)
const strict = new StrictClock(clock)
const now = () => strict.take()

interface Found {
  readonly seq?: number
  readonly damage: string
}

/** Of the script's answer what is looked at one by one. */
interface Report {
  readonly runs: readonly {
    readonly run: string
    readonly entries: number
    readonly head: { readonly hash: string } | null
    readonly signers: readonly string[]
    readonly bridged: number
    readonly unreadable: number
    readonly findings: readonly Found[]
  }[]
  readonly findings: readonly Found[]
  readonly notes: readonly string[]
}

const verifier = (...args: string[]) => spawnSync(process.execPath, [SCRIPT, ...args], { encoding: 'utf8' })

function verify(profile: string, ...args: string[]): Report {
  const { status, stdout, stderr } = verifier(profile, '--json', ...args)
  expect(stderr).toBe('')
  const report = JSON.parse(stdout) as Report
  const found = report.findings.length + report.runs.reduce((sum, run) => sum + run.findings.length, 0)
  expect(status).toBe(found > 0 ? 1 : 0)
  return report
}

async function opened<T>(profile: string, use: (trail: Trail) => Promise<T>, more: OpenTrailOptions = {}) {
  const trail = await openTrail(profile, { ...SIZES, ...more, now: () => clock.now() })
  try {
    strict.anchor(trail.floor)
    return await use(trail)
  } finally {
    await trail.close()
  }
}

/** A run that has ended, with content large and small. */
async function finished(trail: Trail, ids: SeededIds, turns: number): Promise<ScriptedRun> {
  const script = await ScriptedRun.start(trail, ids, strict)
  const worker = await script.workspace()
  for (let turn = 0; turn < turns; turn++) {
    const value = { turn, text: 'ü"\\ '.repeat(turn === 1 ? 20_000 : 20) }
    const body = { workspace: worker, confidence: 'low' } as const
    const entry = script.entry('checkpoint_created', worker, 'worker', body)
    unwrap(await script.appendWith([{ id: script.id('obj') as ObjectId, kind: 'payload', value }], entry))
    await script.envelope(script.root, worker, 'system')
  }
  await script.state(worker, 'integrating', 'closed', { trigger: 'integration_succeeded' } as never)
  await script.end()
  return script
}

/** As a runtime compacts a run. */
async function compact(trail: Trail, script: ScriptedRun): Promise<void> {
  for (;;) {
    const { summaries, done } = unwrap(await trail.storage.compactRun(script.run.id, formatTimestamp(now())))
    if (done) return
    unwrap(await script.append(...summaries))
  }
}

const signerOf = (seed: number) => ed25519Signer(Buffer.alloc(32, seed))
const stranger = signerOf(9)

/** What somebody does to the entries of one run; `others` are those of another. */
type Change = (entries: StoredEntry[], others: readonly StoredEntry[]) => StoredEntry[]

/** Each happens to a run of its own: where, and with which word it is found. */
const DAMAGES: readonly (readonly [what: string, damage: string, seq: number, change: Change])[] = [
  ['an edited entry', 'edited', 6, at(6, entry => edited(entry, '"low"', '"high"'))],
  ['an edited entry of the system, on no local chain', 'edited', 13, at(13, each => edited(each, '"alice"', '"eve"'))],
  ['an edited entry whose hash fits again', 'edited', 6, at(6, entry => refitted(entry, '"low"', '"high"'))],
  ['an entry that names another one before it', 'spliced', 6, at(6, respliced)],
  ['a missing entry', 'missing', 7, entries => entries.toSpliced(5, 1)],
  ['two entries that changed places', 'reordered', 6, entries => entries.with(5, entries[6]!).with(6, entries[5]!)],
  ['the same entry again', 'reordered', 6, entries => [...entries, entries[5]!]],
  ['a second entry 105', 'forked', 105, entries => [...entries, refitted(entries[104]!, '"low"', '"high"')]],
  ['an entry of another run', 'spliced', 6, (own, others) => own.with(5, { ...others[5]!, run: own[0]!.run })],
  ['an end that is gone', 'truncated', 9, entries => entries.slice(0, 8)],
  ['a signature of somebody else', 'signature', 6, at(6, entry => signedBy(entry, stranger))],
  ['a signature that does not fit', 'signature', 6, at(6, entry => ({ ...entry, signature: '0'.repeat(128) }))],
  ['an entry that is not signed', 'signature', 6, at(6, ({ signature: _, signer: __, ...entry }) => entry)],
]

/** Log only: a run for each damage, over several segments and two keys. */
const plain = join(folder, 'plain')
const victims: RunId[] = []
/** the run of 121 entries. */
const long = () => victims[DAMAGES.findIndex(([, damage]) => damage === 'forked')]!

/** Everything that a profile can hold. */
const tiered = join(folder, 'tiered')
let warm: RunId
let cold: RunId
let gone: RunId
let imported: RunId

async function makePlain(): Promise<void> {
  await opened(plain, async trail => {
    const ids = new SeededIds(1)
    const made = await Promise.all(
      DAMAGES.map(async ([, , seq]) => {
        const script = await ScriptedRun.start(trail, ids, strict)
        return { script, worker: await script.workspace(), count: seq > 100 ? 120 : 12 }
      }),
    )
    victims.push(...made.map(({ script }) => script.run.id))
    for (let seq = 3; seq <= 120; seq++) {
      if (seq === 9) unwrap(await trail.rotateKey(formatTimestamp(now())))
      const going = made.filter(({ count }) => seq <= count)
      await Promise.all(going.map(({ script, worker }) => script.checkpoint(worker, { confidence: 'low' })))
    }
    for (const { script } of made)
      unwrap(await script.append(script.entry('user_created', null, 'system', { user_id: 'alice' })))
  })
}

async function makeTiered(): Promise<void> {
  const source = join(folder, 'source')
  const file = join(folder, 'run.parley')
  const key = await opened(source, async trail => {
    const script = await finished(trail, new SeededIds(2), 3)
    imported = script.run.id
    const parts: Buffer[] = []
    for await (const part of unwrap(await trail.export(imported, { at: formatTimestamp(now()) }))) parts.push(part)
    writeFileSync(file, Buffer.concat(parts))
    return trail.keys.at(-1)!.key
  })
  await opened(tiered, async trail => {
    const ids = new SeededIds(3)
    const house = await ScriptedRun.start(trail, ids, strict)
    const made: ScriptedRun[] = []
    for (const turns of [12, 12, 6]) made.push(await finished(trail, ids, turns))
    const [first, second, third] = made as [ScriptedRun, ScriptedRun, ScriptedRun]
    await compact(trail, first)
    // What moves from here on stays in the log, too.
    await trail.storage.reclaim()
    for (const script of [second, third]) await compact(trail, script)
    await house.workspace()
    unwrap(await trail.rotateKey(formatTimestamp(now())))
    clock.set((clock.now() + 3 * DAY * 1000) as Ticks)
    for (const script of [second, third]) unwrap(await trail.storage.expire(script.run.id, now(), RETENTION))
    const { seq } = await third.run.head()
    unwrap(await third.append(unwrap(await trail.storage.snapshot(third.run.id, 'frozen', seq))))
    clock.set((clock.now() + 3 * DAY * 1000) as Ticks)
    for (const name of readdirSync(join(tiered, 'trail/cold', third.run.id)).filter(each => /^\d+\.zst$/.test(each)))
      unwrap(await trail.storage.deleteArchive(third.run.id, Number.parseInt(name, 10), now(), RETENTION))
    await withFile(file, async source =>
      unwrap(await trail.import(source, { keys: [key], at: formatTimestamp(now()) })),
    )
    await house.workspace()
    warm = first.run.id
    cold = second.run.id
    gone = third.run.id
  })
}

beforeAll(() => Promise.all([makePlain(), makeTiered()]))

let copies = 0
function copyOf(profile: string): string {
  const copy = join(folder, `copy-${++copies}`)
  cpSync(profile, copy, { recursive: true })
  return copy
}

const first = (report: Report, run: RunId) => report.runs.find(each => each.run === run)?.findings[0]
const placed = (found: { readonly seq?: number; readonly damage: string } | undefined) =>
  found && { seq: found.seq, damage: found.damage }

/** What the script finds first in each run, and what the trail does. The script comes first: opening tidies up. */
async function both(profile: string) {
  const report = verify(profile)
  const own = await opened(profile, async trail => {
    const found = new Map<string, ReturnType<typeof placed>>()
    for (const { run } of report.runs) found.set(run, placed((await trail.run(run as RunId).verify()).findings[0]))
    return { found, whole: await trail.verifyAll() }
  })
  const script = (run: RunId) => placed(first(report, run))
  return { report, script, trail: (run: RunId) => own.found.get(run), whole: own.whole }
}

describe('a sound profile', () => {
  test('has no findings in any tier, with deletions, rotated keys, imports, blobs and snapshots; heads and counts are those of the trail', async () => {
    for (const profile of [plain, tiered]) {
      const report = verify(profile)
      expect(report.findings).toEqual([])
      const own = await opened(copyOf(profile), async trail => ({
        verified: await trail.verifyAll(),
        keys: trail.keys.map(({ key }) => key),
      }))
      expect(own.verified.unreadable).toEqual([])
      const expected = own.verified.runs.map(({ run, entries, head }) => {
        const { seq, hash } = head!
        return { run, entries, first: 1, head: { seq, hash }, findings: [] }
      })
      expect(report.runs).toMatchObject(expected.sort((a, b) => (a.run < b.run ? -1 : 1)))
      // Both keys have signed the long run, or the house run.
      expect(report.runs.some(({ signers }) => String(signers) === String(own.keys))).toBe(true)
      expect(own.keys).toHaveLength(2)
    }
    expect(segments(plain).length).toBeGreaterThan(3)
    const report = verify(tiered)
    expect(report.runs.find(({ run }) => run === gone)!.bridged).toBeGreaterThan(10)
    for (const run of [warm, cold, imported])
      expect(report.runs.find(each => each.run === run)!.entries).toBeGreaterThan(8)
  })

  test('is told for people, with the keys that are known', () => {
    const { keys } = JSON.parse(readFileSync(join(plain, 'trail/keys.json'), 'utf8'))
    const told = verifier(plain, '--key', keys[0].key)
    expect(told).toMatchObject({ status: 0, stderr: '' })
    expect(told.stdout).toContain(`${long()}  121 entries, head 121 `)
    expect(told.stdout).toMatch(/^Sound: 277 entries in 13 runs\.$/m)
    expect(verifier(plain).stdout).toContain('Who signed is told by the files themselves')
  })

  test('with a torn commit, or one laid out in advance, is sound: nobody was told of it', () => {
    const copy = copyOf(plain)
    const last = segments(copy).at(-1)!
    const bytes = readFileSync(last)
    writeFileSync(last, Buffer.concat([bytes, bytes.subarray(64, 400), Buffer.alloc(5000)]))
    writeFileSync(join(copy, 'trail/00000099.seg'), Buffer.alloc(4096))
    const report = verify(copy)
    expect(report.findings).toEqual([])
    expect(report.notes).toMatchObject([expect.stringContaining('a commit that was torn')])
  })

  test('that a node has open is read as of a moment', async () => {
    const copy = copyOf(plain)
    await opened(copy, async () => {
      expect(verify(copy).notes).toMatchObject([expect.stringContaining(`process ${process.pid} may be writing`)])
    })
    expect(verify(copy).notes).toEqual([])
  })

  test('bad usage and what is no profile end with 2', () => {
    for (const args of [[], [folder], [plain, '--what'], [plain, '--expect-head', 'x'], [plain, '--key', 'x']]) {
      const { status, stdout, stderr } = verifier(...args)
      expect([status, stdout]).toEqual([2, ''])
      expect(stderr).toMatch(/usage:|is not a profile/)
    }
  })
})

describe('damage to the log is found, with the word that the trail has for it', () => {
  let found: Awaited<ReturnType<typeof both>>
  beforeAll(async () => {
    const copy = copyOf(plain)
    tamper(copy, records => {
      const runs = victims.map(run => records.filter(each => each.kind === 'entry' && each.run === run))
      return DAMAGES.flatMap(([, , , change], index) =>
        change(runs[index] as StoredEntry[], runs.at(index - 1) as StoredEntry[]),
      )
    })
    found = await both(copy)
  })

  test.each(DAMAGES)('%s: %s', (what, damage, seq) => {
    const run = victims[DAMAGES.findIndex(each => each[0] === what)]!
    expect(found.script(run)).toEqual({ seq, damage })
    expect(found.trail(run)).toEqual({ seq, damage })
  })

  test('a former key that signs behind its end, or behind a later key', async () => {
    const copy = copyOf(plain)
    const [early, former, last] = [1, 2, 3].map(signerOf) as [Signer, Signer, Signer]
    let until = ''
    tamper(copy, records =>
      records.map(record => {
        const entry = record as StoredEntry
        if (entry.run === victims[0]) return signedBy(entry, entry.seq === 6 ? last : former)
        if (entry.run === victims[1] && entry.seq === 5) until = JSON.parse(entry.view).timestamp
        return entry.run === victims[1] ? signedBy(entry, early) : entry
      }),
    )
    const keys = [
      { key: early.id, since: null, until },
      { key: former.id, since: null, until: '2030-01-01T00:00:00.000000Z' },
      { key: last.id, since: null, until: null },
    ]
    writeFileSync(join(copy, 'trail/keys.json'), JSON.stringify({ version: 2, keys, unrecorded: [] }))
    // The last one is the profile's own, or the trail would put another one behind it.
    const d = Buffer.alloc(32, 3).toString('base64url')
    const jwk = { kty: 'OKP', crv: 'Ed25519', d, x: base64url(last.id) }
    const pem = createPrivateKey({ key: jwk, format: 'jwk' }).export({ type: 'pkcs8', format: 'pem' })
    writeFileSync(join(copy, 'alp/secrets/alp_key.pem'), pem)
    rmSync(join(copy, 'alp/secrets/alp_key.pub'), { force: true })
    const { script, trail } = await both(copy)
    expect([script(victims[0]!), script(victims[1]!)]).toEqual([
      { seq: 7, damage: 'signature' },
      { seq: 6, damage: 'signature' },
    ])
    expect([trail(victims[0]!), trail(victims[1]!)]).toEqual([script(victims[0]!), script(victims[1]!)])
  })

  test('a flipped bit: unreadable where it is, and its entries are missing', async () => {
    const copy = copyOf(plain)
    const file = join(copy, 'trail/00000002.seg')
    const bytes = readFileSync(file)
    const place = bytes.indexOf('"low"')
    expect(place).toBeGreaterThan(64)
    bytes[place + 1]! ^= 1
    writeFileSync(file, bytes)
    const { report, script, whole } = await both(copy)
    expect(report.findings).toMatchObject([{ damage: 'unreadable', file: '00000002.seg' }])
    expect(whole.unreadable).toHaveLength(1)
    const missing = whole.runs.filter(each => each.findings.length > 0)
    expect(missing.length).toBeGreaterThan(0)
    for (const { run, findings } of whole.runs) expect(script(run)).toEqual(placed(findings[0]))
    expect(missing.every(({ findings }) => findings[0]!.damage === 'missing')).toBe(true)
  })

  test('a removed segment, one of another trail, one that is there twice, and a frame that was cut out', () => {
    const removed = copyOf(plain)
    rmSync(join(removed, 'trail/00000002.seg'))
    expect(first(verify(removed), long())!.damage).toBe('missing')
    const foreign = join(removed, 'trail/00000050.seg')
    writeFileSync(foreign, numbered(readFileSync(segments(tiered)[0]!), 50))
    expect(verify(removed).findings).toMatchObject([{ damage: 'spliced', file: '00000050.seg' }])
    const twice = copyOf(plain)
    const end = segments(twice).at(-1)!
    const again = end.replace(/\d+\.seg$/, '00000050.seg')
    writeFileSync(again, numbered(readFileSync(end), 50, Number(end.slice(-12, -4))))
    const reordered = expect.objectContaining({ damage: 'reordered', file: '00000050.seg' })
    expect(verify(twice).findings).toContainEqual(reordered)
    const cut = copyOf(plain)
    const last = segments(cut).at(-1)!
    const whole = readFileSync(last)
    const frame = framesOf(whole).at(-2)!
    writeFileSync(last, Buffer.concat([whole.subarray(0, frame.start), whole.subarray(frame.end)]))
    const missing = { damage: 'missing', message: expect.stringMatching(/^frame \d+ stands where/) }
    expect(verify(cut).findings).toMatchObject([missing])
    writeFileSync(last, whole.subarray(0, framesOf(whole).at(-1)!.start))
    expect(verify(cut).findings).toMatchObject([{ damage: 'truncated', file: 'log' }])
  })

  test('a segment that was given up and stayed there counts for nothing', () => {
    const copy = copyOf(plain)
    const last = segments(copy).at(-1)!
    // What the next segment holds was tried in this one before; what stands here is another entry in its place.
    writeFileSync(last.replace(/\d+\.seg$/, '00000050.seg'), numbered(readFileSync(last), 50))
    const edited = Buffer.from(readFileSync(last).toString('latin1').replaceAll('"low"', '"new"'), 'latin1')
    for (const { start, end } of framesOf(readFileSync(last)))
      edited.writeUInt32LE(crc32(edited.subarray(start + 8, end)), start + 4)
    writeFileSync(last, edited)
    expect(verify(copy)).toMatchObject({ count: 0, findings: [] })
  })

  test('a head that somebody kept: an end that is gone, and another record', () => {
    const { head } = verify(plain).runs.find(each => each.run === long())!
    expect(verify(plain, '--expect-head', `${long()}:121:${head!.hash}`).findings).toEqual([])
    const expecting = (head: string) => first(verify(plain, '--expect-head', `${long()}:${head}`), long())
    expect(expecting(`122:${head!.hash}`)).toMatchObject({ seq: 122, damage: 'truncated' })
    expect(expecting(`121:${'0'.repeat(64)}`)).toMatchObject({ seq: 121, damage: 'rolled_back' })
  })

  test('a time that does not grow, and a text that is not canonical, though all hashes fit', async () => {
    const profile = join(folder, 'unsigned')
    const runs = await opened(
      profile,
      async trail => {
        const scripts = [1, 2].map(() => ScriptedRun.start(trail, new SeededIds(++copies), strict))
        for (const script of await Promise.all(scripts)) await script.checkpoint(await script.workspace())
        for (const script of await Promise.all(scripts)) await script.workspace()
        return (await Promise.all(scripts)).map(script => script.run.id)
      },
      { signer: null },
    )
    const hash = (text: string) => createHash('sha256').update(text).digest('hex')
    tamper(
      profile,
      records =>
        records.map(record => {
          const entry = record as StoredEntry
          if (entry.run === runs[1] && entry.seq === 4) {
            const view = entry.view.replace(',"body"', ', "body"')
            return { ...entry, view, hash: hash(view) }
          }
          if (entry.run !== runs[0] || entry.seq !== 3) return entry
          const before = JSON.parse((records.find(each => each.run === runs[0] && each.seq === 2) as StoredEntry).view)
          const view = entry.view.replaceAll(JSON.parse(entry.view).timestamp, before.timestamp)
          const local = view
            .replace(/,"local_hash":"[0-9a-f]{64}"/, '')
            .replace(/"prev_hash":"[0-9a-f]{64}"/, `"prev_hash":"${before.integrity.local_hash}"`)
          const fitted = view.replace(/"local_hash":"[0-9a-f]{64}"/, `"local_hash":"${hash(local)}"`)
          return { ...entry, view: fitted, hash: hash(fitted) }
        }),
      { removeHeads: true },
    )
    const report = verify(profile)
    expect(first(report, runs[0]!)).toMatchObject({ seq: 3, damage: 'time' })
    const message = expect.stringContaining('canonical')
    expect(first(report, runs[1]!)).toMatchObject({ seq: 4, damage: 'edited', message })
  })
})

describe('damage beside the log', () => {
  const archives = (profile: string, tier: string, run: RunId) =>
    readdirSync(join(profile, 'trail', tier, run))
      .filter(name => /^\d+\.zst$/.test(name))
      .map(name => join(profile, 'trail', tier, run, name))

  test('archives of both tiers that are gone', async () => {
    const copy = copyOf(tiered)
    rmSync(archives(copy, 'runs', warm).at(-1)!)
    rmSync(archives(copy, 'cold', cold).at(-1)!)
    const { script, trail } = await both(copy)
    for (const run of [warm, cold]) {
      expect(script(run)).toMatchObject({ damage: 'unreadable' })
      expect(trail(run)).toEqual(script(run))
    }
    // Retention deleted none of them.
    for (const { run, bridged, unreadable } of verify(copy).runs)
      if (run === warm || run === cold) {
        expect(bridged).toBe(0)
        expect(unreadable).toBeGreaterThan(0)
      }
    expect(verifier(copy).stdout).toMatch(/\d entries \(\d+ unreadable\)/)
  })

  test('an entry and an object in the log that are not those of their archive', () => {
    const copy = copyOf(tiered)
    const { entries } = verify(copy).runs.find(each => each.run === cold)!
    // Entries that moved are still in the log; the trail does not look at them there.
    const file = segments(copy).find(name => readFileSync(name).includes('"confidence":"low"'))!
    editLog(file, '"confidence":"low"', '"confidence":"LOW"')
    editLog(file, '"turn":5', '"turn":8')
    const report = verify(copy)
    expect(report.findings).toMatchObject([{ damage: 'edited', file: expect.stringMatching(/^object /) }])
    expect(report.runs.find(each => each.run === cold)!.entries).toBe(entries)
    expect(report.runs.flatMap(each => each.findings)).toMatchObject([{ damage: 'forked' }])
  })

  test('a whole run that is gone: heads tell of it', async () => {
    const copy = copyOf(tiered)
    for (const path of [`runs/${warm}`, `cold/${warm}`, `runs/${imported}`])
      rmSync(join(copy, 'trail', path), { recursive: true })
    const report = verify(copy)
    // The log still has its last entries.
    expect(first(report, warm)).toMatchObject({ damage: 'missing' })
    expect(first(report, imported)).toMatchObject({ seq: 1, damage: 'truncated' })
  })

  test('an archive that was edited and made to fit its manifest again', async () => {
    const copy = copyOf(tiered)
    const file = archives(copy, 'runs', warm).at(-1)!
    const manifest = file.replace(/\.zst$/, '.json.zst')
    const packed = zstdCompressSync(
      Buffer.from(zstdDecompressSync(readFileSync(file)).toString('latin1').replace('"low"', '"LOW"'), 'latin1'),
    )
    const listed = JSON.parse(zstdDecompressSync(readFileSync(manifest)).toString())
    listed.sha256 = createHash('sha256').update(packed).digest('hex')
    writeFileSync(file, packed)
    expect(verify(copy).findings).toMatchObject([{ damage: 'edited', file: expect.stringMatching(/^archive /) }])
    writeFileSync(manifest, zstdCompressSync(Buffer.from(JSON.stringify(listed))))
    const { report, script, trail } = await both(copy)
    expect(report.findings).toEqual([])
    expect(script(warm)).toMatchObject({ damage: 'edited' })
    expect(trail(warm)).toEqual(script(warm))
  })

  test('archives that are claimed to have been deleted after their retention', () => {
    const copy = copyOf(tiered)
    const file = archives(copy, 'runs', warm).at(-1)!
    const manifest = file.replace(/\.zst$/, '.json.zst')
    const listed = JSON.parse(zstdDecompressSync(readFileSync(manifest)).toString())
    rmSync(file)
    writeFileSync(
      manifest,
      zstdCompressSync(Buffer.from(JSON.stringify({ ...listed, deleted: true, archive_hash: '0'.repeat(64) }))),
    )
    expect(verify(copy).findings).toMatchObject([
      { damage: 'edited', message: 'the manifest does not match its own hash' },
      { damage: 'missing', message: expect.stringContaining('no entry that stays') },
    ])
  })

  test('blobs with another content and without any, and a snapshot that was cut', () => {
    const copy = copyOf(tiered)
    const names = (readdirSync(join(copy, 'blobs'), { recursive: true }) as string[]).filter(name => name.length > 60)
    expect(names.length).toBeGreaterThan(0)
    rmSync(join(copy, 'trail/cold/blobs.d'), { recursive: true, force: true })
    const [one] = names
    writeFileSync(join(copy, 'blobs', one!), 'something else')
    const snapshot = join(copy, 'trail/snapshots/frozen.zst')
    const lines = zstdDecompressSync(readFileSync(snapshot)).toString().trimEnd().split('\n')
    writeFileSync(snapshot, zstdCompressSync(Buffer.from(lines.slice(0, -1).join('\n'))))
    const found = verify(copy).findings
    expect(found.map(({ damage }) => damage).sort()).toEqual(['edited', 'missing', 'truncated'])
  })

  test('keys: an endorsement that does not hold, a list that is gone, a stranger who was pinned, an import without its record', () => {
    const forged = copyOf(plain)
    const keys = join(forged, 'trail/keys.json')
    const ring = JSON.parse(readFileSync(keys, 'utf8'))
    ring.keys[1].endorsement.at = '2026-01-01T00:00:00.000000Z'
    writeFileSync(keys, JSON.stringify(ring))
    expect(verify(forged).findings).toMatchObject([{ damage: 'signature', file: 'keys.json' }])
    // Whoever starts from the first key cannot follow to the second any more.
    expect(first(verify(forged, '--key', ring.keys[0].key), long())).toMatchObject({ damage: 'signature' })
    rmSync(keys)
    expect(verify(forged).findings).toMatchObject([{ damage: 'signature', file: 'keys.json' }])
    expect(first(verify(plain, '--key', stranger.id), long())).toMatchObject({ seq: 1, damage: 'signature' })
    const lost = copyOf(tiered)
    rmSync(join(lost, `trail/imports/${imported}.json`))
    expect(first(verify(lost), imported)).toMatchObject({ seq: 1, damage: 'signature' })
  })
})

function at(seq: number, change: (entry: StoredEntry) => StoredEntry): Change {
  return entries => entries.map(entry => (entry.seq === seq ? change(entry) : entry))
}

function signedBy(entry: StoredEntry, { id, sign }: Signer): StoredEntry {
  return { ...entry, signer: id, signature: sign(entry.hash) }
}

function refitted(entry: StoredEntry, from: string, to: string): StoredEntry {
  const changed = edited(entry, from, to)
  return { ...changed, hash: createHash('sha256').update(changed.view).digest('hex') }
}

const base64url = (key: string) => Buffer.from(key, 'base64').toString('base64url')

/** The same entry behind another one, with a hash that fits. */
function respliced(entry: StoredEntry): StoredEntry {
  return refitted(entry, JSON.parse(entry.view).prev_hash, '0'.repeat(64))
}

/** Where the frames of a segment begin and end. */
function framesOf(bytes: Buffer): { readonly start: number; readonly end: number }[] {
  const frames: { start: number; end: number }[] = []
  for (let start = 64; start + 32 <= bytes.length && bytes.readUInt32LE(start) !== 0; ) {
    const end = start + 32 + bytes.readUInt32LE(start + 8)
    frames.push({ start, end })
    start = end
  }
  return frames
}

/** A segment under another number. */
function numbered(segment: Buffer, number: number, previous = segment.readUInt32LE(48)): Buffer {
  segment.writeUInt32LE(number, 8)
  segment.writeUInt32LE(previous, 48)
  segment.writeUInt32LE(crc32(segment.subarray(0, 60)), 60)
  return segment
}

/** Changes a text in a segment, and the checksum of its frame with it. */
function editLog(file: string, from: string, to: string): void {
  const bytes = readFileSync(file)
  const place = bytes.indexOf(from)
  const { start, end } = framesOf(bytes).find(frame => frame.start < place && place < frame.end)!
  bytes.write(to, place)
  bytes.writeUInt32LE(crc32(bytes.subarray(start + 8, end)), start + 4)
  writeFileSync(file, bytes)
}

function segments(profile: string): string[] {
  const names = readdirSync(join(profile, 'trail')).filter(name => name.endsWith('.seg'))
  return names.sort().map(name => join(profile, 'trail', name))
}
