// Parts of the store: kept states, recent objects, the store over segments.
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { type ObjectId, type RunId, SeededIds } from '@parley/core'
import { expect, test } from 'vitest'
import { ContentCipher } from '../content/cipher.ts'
import type { StoredObject } from '../entry.ts'
import type { TrailIndex } from '../index/contract.ts'
import { trailLimits } from '../limits.ts'
import { openSegmentStore } from '../open-trail.ts'
import { memoryDisks, openMemoryStore } from '../testing/memory/open-memory.ts'
import { temporaryFolder } from '../testing/temporary.ts'
import { trailStoreCompliance } from './compliance.ts'
import { SegmentStore } from './segment-store.ts'
import { fileStateCache } from './state-files.ts'

const RUN = 'run_1' as RunId
const CONTENT = Buffer.from('the state of a run')

async function saved(): Promise<{ folder: string; file: string }> {
  const folder = join(temporaryFolder(), 'states')
  await fileStateCache(folder).save(RUN, CONTENT)
  const [name] = readdirSync(folder)
  return { folder, file: join(folder, name!) }
}

test('what was saved last is loaded, by another process too, until it is removed', async () => {
  const folder = join(temporaryFolder(), 'states')
  const states = fileStateCache(folder)
  expect(await states.load(RUN)).toBeUndefined()
  await states.save(RUN, Buffer.from('older and longer than what comes later'))
  await states.save(RUN, CONTENT)
  expect(await states.load(RUN)).toEqual(CONTENT)
  expect(await states.load('run_2' as RunId)).toBeUndefined()
  const later = fileStateCache(folder)
  expect(await later.load(RUN)).toEqual(CONTENT)
  await later.remove(RUN)
  await later.remove(RUN)
  expect(await later.load(RUN)).toBeUndefined()
  expect(readdirSync(folder)).toEqual([])
})

test('files are for their owner alone', async () => {
  const { folder, file } = await saved()
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(statSync(folder).mode & 0o777).toBe(0o700)
})

test.each(['../run', 'a/b', '.', 'CON', 'x'.repeat(64)])('a run may be called %s', async name => {
  const folder = join(temporaryFolder(), 'states')
  await fileStateCache(folder).save(name as RunId, CONTENT)
  expect(await fileStateCache(folder).load(name as RunId)).toEqual(CONTENT)
  expect(readdirSync(folder)).toHaveLength(1)
})

test.each<readonly [string, (bytes: Buffer) => Buffer]>([
  ['an empty file', () => Buffer.alloc(0)],
  ['a torn file', bytes => bytes.subarray(0, bytes.length - 1)],
  ['zeros', bytes => Buffer.alloc(bytes.length)],
  ['something else', () => Buffer.from('a letter that somebody put here')],
  ['another format', bytes => Buffer.concat([bytes.subarray(0, 4), Buffer.of(2), bytes.subarray(5)])],
])('%s counts as absent', async (_what, change) => {
  const { folder, file } = await saved()
  writeFileSync(file, change(readFileSync(file)))
  expect(await fileStateCache(folder).load(RUN)).toBeUndefined()
})

test('a change of any byte is noticed', async () => {
  const { folder, file } = await saved()
  const bytes = readFileSync(file)
  for (let at = 0; at < bytes.length; at++) {
    const changed = Buffer.from(bytes)
    changed[at]! ^= 1
    writeFileSync(file, changed)
    expect(await fileStateCache(folder).load(RUN), `byte ${at}`).toBeUndefined()
  }
})

test('what a crash left half written does not stand in the way, nor does a file that is gone', async () => {
  const { folder, file } = await saved()
  writeFileSync(`${file}.tmp`, 'half of')
  const states = fileStateCache(folder)
  await states.save(RUN, Buffer.from('next'))
  expect(await states.load(RUN)).toEqual(Buffer.from('next'))
  expect(readdirSync(folder)).toHaveLength(1)
  rmSync(file)
  expect(await states.load(RUN)).toBeUndefined()
})

test('a state above the limit is refused, and what was saved before stays', async () => {
  const { folder } = await saved()
  const states = fileStateCache(folder)
  await expect(states.save(RUN, Buffer.alloc(trailLimits.stateBytes + 1))).rejects.toMatchObject({
    code: 'state_too_large',
  })
  expect(await states.load(RUN)).toEqual(CONTENT)
})

const SECRET = new Uint8Array(32).fill(7)
const cipher = ContentCipher.for('shared-infrastructure', SECRET)
const unsealed = ContentCipher.for('single-runtime', SECRET)
const others = ContentCipher.for('shared-infrastructure', new Uint8Array(32).fill(8))

test.each([0, 1, 1000, trailLimits.sealedChunkBytes, trailLimits.sealedChunkBytes * 2 + 1])(
  'W-SEC-16 a sealed state of %i bytes comes back, and shows nothing on the disk',
  async size => {
    const folder = join(temporaryFolder(), 'states')
    const content = Buffer.alloc(size, 'marker ')
    const states = fileStateCache(folder, cipher)
    expect(states.sealed).toBe(true)
    await states.save(RUN, content)
    const [name] = readdirSync(folder)
    expect(readFileSync(join(folder, name!)).includes('marker')).toBe(false)
    const loaded = async (store: ReturnType<typeof fileStateCache>) => {
      const found = await store.load(RUN)
      return found && Buffer.from(found).equals(content)
    }
    expect(await loaded(fileStateCache(folder, cipher))).toBe(true)
    // Where sealing has ended, what was sealed is still of use.
    expect(await loaded(fileStateCache(folder, unsealed))).toBe(true)
    expect(await fileStateCache(folder, others).load(RUN)).toBeUndefined()
    expect(await fileStateCache(folder).load(RUN)).toBeUndefined()
  },
)

test('a sealed state is of use for its own run only, and only as a whole', async () => {
  const folder = join(temporaryFolder(), 'states')
  const chunk = trailLimits.sealedChunkBytes
  await fileStateCache(folder, cipher).save(RUN, Buffer.alloc(chunk * 2, 1))
  const [name] = readdirSync(folder)
  const whole = readFileSync(join(folder, name!))
  const withContent = (content: Buffer, file = name!) => {
    const header = Buffer.from(whole.subarray(0, 12))
    header.writeUInt32LE(crc32(content), 8)
    writeFileSync(join(folder, file), Buffer.concat([header, content]))
  }
  const content = whole.subarray(12)
  const sealed = chunk + 17
  const start = content.length - 2 * sealed
  const load = (run = RUN) => fileStateCache(folder, cipher).load(run)
  withContent(content)
  expect(await load()).toBeDefined()
  for (const changed of [
    content.subarray(0, start + sealed),
    content.subarray(0, -1),
    Buffer.concat([
      content.subarray(0, start),
      content.subarray(start + sealed),
      content.subarray(start, start + sealed),
    ]),
    Buffer.concat([content, Buffer.alloc(5)]),
    content.subarray(0, 20),
    Buffer.alloc(0),
  ]) {
    withContent(changed)
    expect(await load()).toBeUndefined()
  }
  const other = 'run_2' as RunId
  withContent(content, `${Buffer.from(other).toString('hex')}.state`)
  expect(await load(other)).toBeUndefined()
})

test('once states are sealed, those that were not are gone from the disk', async () => {
  const { folder } = await saved()
  const states = fileStateCache(folder, cipher)
  expect(await states.load('run_2' as RunId)).toBeUndefined()
  expect(readdirSync(folder)).toEqual([])
})

/** What an index answers that is asked for an object. */
const ASKED = new Error('the index was asked')

/** A store whose index knows nothing and says so loudly. */
async function store(disks = memoryDisks()): Promise<SegmentStore> {
  const index = {
    opening: async () => ({ state: 'current', lostHeads: [] }),
    advance: () => undefined,
    object: async () => {
      throw ASKED
    },
    close: async () => undefined,
  } as Partial<TrailIndex> as TrailIndex
  return SegmentStore.open({
    files: disks.trail,
    blobs: disks.blobs,
    index: () => index,
    newTrail: () => '0'.repeat(32),
    firstSegmentBytes: 64 * 1024,
    segmentBytes: 64 * 1024,
  })
}

function object(id: string, data: string, run = RUN): StoredObject {
  return { kind: 'object', run, seq: 1, id: id as ObjectId, objectKind: 'note', data: JSON.stringify(data) }
}

function put(to: SegmentStore, ...objects: StoredObject[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const refused = to.append(objects, error => (error ? reject(error) : resolve()))
    if (refused) reject(refused)
  })
}

test('what was written is there at once, in any frame and segment', async () => {
  const made = await store()
  const ids = new SeededIds(3)
  const written = Array.from({ length: 300 }, (_, index) => object(ids.next('obj'), 'ä'.repeat(index * 7)))
  await Promise.all(written.map(each => put(made, each, object(ids.next('obj'), 'beside it'))))
  for (const each of written) expect(await made.object(RUN, each.id)).toEqual(each)
  await made.close()
})

test('a blob is read from its file', async () => {
  const made = await store()
  const large = object('obj_large', 'x'.repeat(100_000))
  await put(made, large)
  expect(await made.object(RUN, large.id)).toEqual({ ...large, blob: expect.any(String) })
  await made.close()
})

test('an id counts as it was first written, and in its own run', async () => {
  const made = await store()
  await put(made, object('obj_1', 'first'))
  await put(made, object('obj_1', 'second'), object('obj_1', 'another run', 'run_2' as RunId))
  expect(await made.object(RUN, 'obj_1' as ObjectId)).toMatchObject({ data: '"first"' })
  await expect(made.object('run_2' as RunId, 'obj_1' as ObjectId)).rejects.toBe(ASKED)
  await made.close()
})

test('the last ones are remembered, older ones are for the index', async () => {
  const made = await store()
  for (let index = 0; index <= 2 * trailLimits.recentObjects; index += 256)
    await put(made, ...Array.from({ length: 256 }, (_, at) => object(`obj_${index + at}`, 'x')))
  await expect(made.object(RUN, 'obj_0' as ObjectId)).rejects.toBe(ASKED)
  const newest = `obj_${2 * trailLimits.recentObjects}` as ObjectId
  expect(await made.object(RUN, newest)).toMatchObject({ id: newest })
  await made.close()
})

trailStoreCompliance('segment log on disk, SQLite index', () => {
  const profile = mkdtempSync(join(tmpdir(), 'parley-store-'))
  return { open: () => openSegmentStore(profile), dispose: async () => rmSync(profile, { recursive: true }) }
})

trailStoreCompliance('segment log in memory', () => {
  const disks = memoryDisks()
  return { open: () => openMemoryStore(disks), dispose: async () => {} }
})
