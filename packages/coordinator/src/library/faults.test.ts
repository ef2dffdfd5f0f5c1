// The library where something fails: the disk, the machine, the record itself. Also under another deployment model, and
// beside the library of another profile.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  formatTimestamp,
  type LibraryRecord,
  type MachineFault,
  type Principal,
  type RunId,
  SystemClock,
  unwrap,
} from '@parley/core'
import { ContentCipher, openTrail } from '@parley/trail'
import { edited, memoryDisks, tamper } from '@parley/trail/testing'
import { expect, onTestFinished, test, vi } from 'vitest'
import { Coordinator } from '../coordinator.ts'
import { Machine } from '../machine/machine.ts'
import { Fixture, refusal, solo } from '../testing/fixture.ts'

const bob: Principal = { id: 'bob', kind: 'user', scopes: ['solve'] }
const LARGE = 'x'.repeat(100_000)

type Libraries = { readonly coordinator: Pick<Coordinator, 'library'> }

const append = (f: Libraries, body: LibraryRecord['body']) =>
  f.coordinator.library.append({ type: 'knowledge_block', by: bob, body })

async function read(f: Libraries, into: unknown[] = []): Promise<unknown[]> {
  for await (const { body } of f.coordinator.library.read()) into.push(body.n)
  return into
}

async function libraryRun(f: Fixture): Promise<RunId> {
  const starts = await f.trail.starts((await f.trail.runs()).map(({ run }) => run))
  return starts.find(({ context }) => (context as { library?: true }).library)!.run
}

test('while the disk cannot be written appends are refused and leave nothing; what is there can be read', async () => {
  const disks = memoryDisks()
  const f = await Fixture.open({}, { disks })
  unwrap(await append(f, { n: 1 }))
  disks.trail.fail('write', { times: Number.POSITIVE_INFINITY })
  const refused = [await append(f, { n: 2 }), ...(await Promise.all([3, 4, 5].map(n => append(f, { n }))))]
  for (const each of refused) {
    expect(each).toMatchObject({ ok: false, error: { retryable: true } })
    expect(['trail_unavailable', 'machine_fault']).toContain(!each.ok && each.error.code)
  }
  expect(await read(f)).toEqual([1])
  disks.trail.mend()
  await vi.waitFor(async () => unwrap(await append(f, { n: 6 })), { timeout: 20_000, interval: 200 })
  expect(await read(f)).toEqual([1, 6])
  await f.restart()
  expect(await read(f)).toEqual([1, 6])
})

test('while a fault of the machine holds everything up appends are refused with machine_fault', async () => {
  const fault: MachineFault = { code: 'ENOSPC', where: '/full' }
  const machine = new Machine({
    clock: new SystemClock(),
    folder: '/full',
    probe: async () => fault,
    log: () => undefined,
  })
  const f = await Fixture.open({}, { machine })
  unwrap(await append(f, { n: 1 }))
  await machine.look()
  expect(machine.held).toBeDefined()
  expect(await append(f, { n: 2 })).toMatchObject(refusal('machine_fault'))
  expect(await read(f)).toEqual([1])
  machine.close()
})

test('a library whose record was changed keeps no node from starting, and refuses what is asked of it', async () => {
  const f = await Fixture.open({ one: () => 'done' })
  unwrap(await append(f, { n: 1 }))
  const run = await libraryRun(f)
  await f.stop()
  tamper(f.profile, all =>
    all.map(each =>
      each.run === run && each.kind === 'entry' && each.seq === 3 ? edited(each, '"event_type"', '"event-type"') : each,
    ),
  )
  await f.start()
  expect(await append(f, { n: 2 })).toMatchObject(refusal('trail_damaged'))
  await expect(read(f)).rejects.toMatchObject({ code: 'trail_damaged' })
  const following = f.coordinator.library.read({ follow: new AbortController().signal })
  await expect(following.next()).rejects.toMatchObject({ code: 'trail_damaged' })
  const own = await f.finished(solo('one'))
  expect(own.state).toBe('done')
  // Somebody may have tampered with it, which a list must not hide.
  expect((await f.coordinator.runs.list()).map(each => `${each.run} ${each.state}`)).toEqual(
    expect.arrayContaining([`${own.run} done`, `${run} damaged`]),
  )
})

test('where the body of a record is gone a reader gets those before it, and is told', async () => {
  const f = await Fixture.open()
  unwrap(await append(f, { n: 1 }))
  unwrap(await append(f, { n: 2, LARGE }))
  unwrap(await append(f, { n: 3 }))
  await f.stop()
  rmSync(join(f.profile, 'blobs'), { recursive: true })
  await f.start()
  const seen: unknown[] = []
  await expect(read(f, seen)).rejects.toMatchObject({ code: 'trail_damaged' })
  expect([[], [1]]).toContainEqual(seen)
})

test('in a deployment that seals content, bodies are sealed on disk and read as they were', async () => {
  const profile = mkdtempSync(join(tmpdir(), 'parley-library-'))
  onTestFinished(() => rmSync(profile, { recursive: true, force: true }))
  const secret = Buffer.alloc(32, 7)
  const open = async () => {
    const trail = await openTrail(profile, { cipher: ContentCipher.for('zero-trust', secret)! })
    const coordinator = await Coordinator.open({
      trail,
      profile,
      secret,
      deployment: 'zero-trust',
      adapter: () => {
        throw new Error('No run is started here.')
      },
    })
    return { trail, coordinator }
  }
  const first = await open()
  unwrap(await append(first, { n: 'a secret word' }))
  unwrap(await append(first, { n: 'a secret word', LARGE }))
  unwrap(await first.coordinator.library.append({ type: 'feedback.rating', by: bob, body: { n: 'a secret word' } }))
  const all = ['a secret word', 'a secret word', 'a secret word']
  expect(await read(first)).toEqual(all)
  await first.coordinator.close()
  await first.trail.close()
  const files = readdirSync(profile, { recursive: true, withFileTypes: true }).filter(file => file.isFile())
  for (const { parentPath, name } of files)
    expect(readFileSync(join(parentPath, name)).includes('secret word'), name).toBe(false)
  const second = await open()
  expect(await read(second)).toEqual(all)
  unwrap(await append(second, { n: 4 }))
  expect(await read(second)).toEqual([...all, 4])
  await second.coordinator.close()
  await second.trail.close()
})

test('the library of another profile can be imported and looked at, and this profile keeps its own', async () => {
  const from = await Fixture.open()
  unwrap(await append(from, { n: 'theirs' }))
  const run = await libraryRun(from)
  const at = formatTimestamp(new SystemClock().now())
  const parts: Buffer[] = []
  for await (const part of unwrap(await from.trail.export(run, { at }))) parts.push(part)
  const file = Buffer.concat(parts)
  const source = { size: file.length, read: async (from: number, length: number) => file.subarray(from, from + length) }
  const keys = from.trail.keys.map(({ key }) => key)

  for (const before of [true, false]) {
    const f = await Fixture.open()
    if (before) unwrap(await append(f, { n: 'ours' }))
    const imported = unwrap(await f.trail.import(source, { keys, at }))
    expect(imported.report).toMatchObject({ sound: true, run })
    if (!before) unwrap(await append(f, { n: 'ours' }))
    expect(await read(f)).toEqual(['ours'])
    await f.restart()
    unwrap(await append(f, { n: 'ours too' }))
    expect(await read(f)).toEqual(['ours', 'ours too'])
    expect((await f.coordinator.views.view(run)).ok).toBe(true)
  }
  expect(await read(from)).toEqual(['theirs'])
})
