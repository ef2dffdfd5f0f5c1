// Who knocked (ALP-PEND), on a real file.
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { ManualClock } from '@parley/core'
import { type Disk, machineDisk } from '@parley/keys/files'
import { expect, test } from 'vitest'
import { linkPaths } from '../identity/files.ts'
import { linkDefaults, linkLimits } from '../limits.ts'
import { at } from '../testing/clock.ts'
import { CrashingDisk } from '../testing/crashing-disk.ts'
import { temporaryFolder } from '../testing/homes.ts'
import { identityOf, vectors } from '../testing/vectors.ts'
import { PendingPeers } from './pending.ts'

const carol = identityOf('carol').id
const key = (n: number) => Buffer.from(String(n).padStart(32)).toString('base64')

const keysOf = (pending: PendingPeers) => pending.list().map(({ pubkey }) => pubkey)

function kept(disk?: Disk) {
  const path = linkPaths(temporaryFolder()).pending
  const clock = new ManualClock(at('2026-04-23T12:00:00.500Z'))
  const failed: string[] = []
  const open = (with_: Disk | undefined = disk) =>
    new PendingPeers(path, { clock, failed: what => void failed.push(what), ...(with_ && { disk: with_ }) })
  return { path, clock, failed, open, pending: open(), text: () => readFileSync(path, 'utf8') }
}

test('ALP-PEND-02 an entry has the key, both times as Unix seconds, and the address: null where there is none', () => {
  const { pending, clock, text, path } = kept()
  pending.knock(carol, undefined)
  expect(text()).toBe(`- pubkey: "${carol}"\n  first_seen: 1776945600.5\n  last_seen: 1776945600.5\n  address: null\n`)
  clock.advance(linkDefaults.pendingWriteMs)
  pending.knock(key(1), '10.0.0.7:41002')
  expect(text()).toContain('  address: "10.0.0.7:41002"\n')
  expect(statSync(path).mode & 0o777).toBe(0o600)
})

test('ALP-PEND-02 what the reference writes is read', () => {
  const { pending, path } = kept()
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, vectors.yaml_as_the_reference_writes_it.pending)
  const pubkey = 'F0VTtFbd38aQjsqxwQH+arIeK6oGF3lbfUOmNIKZP9U='
  expect(pending.list()).toEqual([{ pubkey, firstSeen: 1777678347.279, lastSeen: 1777694616.993 }])
})

test('ALP-PEND-03 a repeat refreshes last_seen and fills in an empty address, and no more', () => {
  const { pending, clock, open } = kept()
  pending.knock(carol, undefined)
  clock.advance(10_000)
  pending.knock(carol, '10.0.0.7:1')
  clock.advance(10_000)
  pending.knock(carol, '10.0.0.8:2')
  pending.close()
  expect(open().list()).toEqual([
    { pubkey: carol, firstSeen: 1776945600.5, lastSeen: 1776945620.5, address: '10.0.0.7:1' },
  ])
})

test('ALP-PEND-03 the twenty that knocked last are kept, newest first, in memory and in the file', () => {
  const { pending, clock, open } = kept()
  for (let n = 0; n < 30; n++) {
    pending.knock(key(n), undefined)
    clock.advance(1000)
  }
  pending.knock(key(12), undefined)
  const expected = [12, ...Array.from({ length: 20 }, (_, n) => 29 - n).filter(n => n !== 12)].map(key)
  expect(keysOf(pending)).toEqual(expected.slice(0, 20))
  pending.close()
  expect(open().list()).toEqual(pending.list())
  expect(pending.list()).toHaveLength(20)
})

test('ALP-PEND-04 a file that cannot be read is empty, and entries without a key are ignored', () => {
  const { pending, path } = kept()
  mkdirSync(dirname(path), { recursive: true })
  for (const text of ['[', 'x', '- first_seen: 1.0\n- pubkey: 5\n- text\n- pubkey: ""\n']) {
    writeFileSync(path, text)
    expect(pending.list()).toEqual([])
  }
  writeFileSync(path, `- pubkey: ${carol}\n  last_seen: yesterday\n`)
  expect(pending.list()).toEqual([{ pubkey: carol, firstSeen: 0, lastSeen: 0 }])
  writeFileSync(path, '#'.repeat(linkLimits.pendingFileBytes + 1))
  expect(pending.list()).toEqual([])
})

test('ALP-PEND-04 a crash at any step leaves the old file or the new one', () => {
  for (let step = 0, done = false; !done; step++) {
    const { path, open, failed } = kept()
    const first = open()
    first.knock(key(1), undefined)
    first.close()
    const before = readFileSync(path, 'utf8')
    const crashing = open(new CrashingDisk(step))
    crashing.knock(key(2), undefined)
    done = failed.length === 0
    const now = readFileSync(path, 'utf8')
    const keys = keysOf(open())
    if (now === before) expect(keys).toEqual([key(1)])
    else expect(keys.toSorted()).toEqual([key(1), key(2)])
    if (done) expect(keys).toContain(key(2))
    const next = open()
    next.knock(key(3), undefined)
    next.close()
    expect(keysOf(open())).toContain(key(3))
  }
})

test('ALP-PEND-04 a flood of strangers costs one write at once and then one for each interval', () => {
  let writes = 0
  const { pending, clock } = kept({
    ...machineDisk,
    rename(from, to) {
      writes++
      machineDisk.rename(from, to)
    },
  })
  for (let n = 0; n < 10_000; n++) {
    pending.knock(key(n), undefined)
    if (n % 1000 === 999) clock.advance(linkDefaults.pendingWriteMs / 5)
  }
  expect(writes).toBe(3)
  expect(pending.list()).toHaveLength(20)
  clock.advance(10 * linkDefaults.pendingWriteMs)
  const after = writes
  clock.advance(10 * linkDefaults.pendingWriteMs)
  expect(writes).toBe(after)
  expect(clock.pending).toBe(0)
})

test('ALP-PEND-04 a disk that fails is told to the log, and what knocked is written when it works again', () => {
  let broken = true
  const { pending, clock, failed, open } = kept({
    ...machineDisk,
    open(...how) {
      const file = machineDisk.open(...how)
      const sync = () => {
        if (broken) throw new Error('no space left')
        file.sync()
      }
      return { ...file, sync }
    },
  })
  pending.knock(carol, undefined)
  expect(failed).toHaveLength(1)
  expect(pending.list()).toHaveLength(1)
  broken = false
  clock.advance(linkDefaults.pendingWriteMs)
  expect(keysOf(open())).toEqual([carol])
})

test('ALP-PEND-05 discarding deletes the entry, and the sender may knock again at once', () => {
  const { pending, open } = kept()
  pending.knock(carol, undefined)
  pending.knock(key(1), undefined)
  expect(pending.discard(carol)).toBe(true)
  expect(pending.discard(carol)).toBe(false)
  expect(keysOf(open())).toEqual([key(1)])
  expect(pending.discard(key(1))).toBe(true)
  expect(open().list()).toEqual([])
  pending.knock(carol, undefined)
  expect(pending.list().map(({ pubkey }) => pubkey)).toEqual([carol])
})

test('ALP-PEND-05 an entry that a person takes out of the file stays out', () => {
  const { pending, clock, path } = kept()
  pending.knock(carol, undefined)
  writeFileSync(path, '')
  clock.advance(linkDefaults.pendingWriteMs)
  pending.knock(key(1), undefined)
  clock.advance(linkDefaults.pendingWriteMs)
  expect(pending.list().map(({ pubkey }) => pubkey)).toEqual([key(1)])
})

test('ALP-PEND-01 a spelling of a key that nobody could pin is not remembered', () => {
  const { pending } = kept()
  for (const spelling of [` ${carol}`, `${carol}\n`, 'carol', '']) pending.knock(spelling, undefined)
  expect(pending.list()).toEqual([])
})
