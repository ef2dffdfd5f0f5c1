import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { machineFaultOf } from '@parley/core'
import { machineDisk, writeWholeSync } from '@parley/keys/files'
import { expect, onTestFinished, test } from 'vitest'
import { nodeLimits } from '../limits.ts'
import { temporaryFolder } from '../testing/ground.ts'
import { Reserve } from './reserve.ts'

/** A disk of the test's own; undefined where nobody may mount one. */
function disk(size: string): string | undefined {
  const place = join(temporaryFolder(), 'disk')
  mkdirSync(place)
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', place], { stdio: 'ignore' })
  } catch {
    return undefined
  }
  onTestFinished(() => void execFileSync('umount', ['--lazy', place]))
  return place
}

test('room is kept with real blocks, for its owner only; a sparse file in its place is none', async () => {
  const file = join(temporaryFolder(), 'reserve')
  const reserve = new Reserve(file)
  expect(await reserve.layOut()).toBeUndefined()
  const { size, blocks, mode } = statSync(file)
  expect(size).toBe(nodeLimits.reserveBytes)
  expect(blocks * 512).toBeGreaterThanOrEqual(size)
  expect(mode & 0o777).toBe(0o600)
  reserve.release()
  expect(existsSync(file)).toBe(false)
  writeFileSync(file, '')
  truncateSync(file, size)
  expect(await reserve.restore()).toBeUndefined()
  expect(statSync(file).blocks * 512).toBeGreaterThanOrEqual(size)
})

test('it is smaller on a small disk, comes back only when there is room, and is never half there', async context => {
  const place = disk('16m')
  if (!place) return context.skip()
  const file = join(place, 'reserve')
  const reserve = new Reserve(file)
  expect(await reserve.layOut()).toBeUndefined()
  expect(statSync(file).size).toBe(2 ** 20)
  reserve.release()
  writeFileSync(join(place, 'filler'), Buffer.alloc(15 * 2 ** 20))
  expect(await reserve.restore()).toEqual({ code: 'ENOSPC', where: place })
  expect([existsSync(file), existsSync(`${file}.new`)]).toEqual([false, false])
  // A node that starts on a full disk finds what the last one has laid out.
  rmSync(join(place, 'filler'))
  expect(await reserve.restore()).toBeUndefined()
  const next = new Reserve(file)
  next.release()
  writeFileSync(join(place, 'filler'), Buffer.alloc(15 * 2 ** 20))
  expect(await next.restore()).toEqual({ code: 'ENOSPC', where: place })
  rmSync(join(place, 'filler'))
  expect(await reserve.restore()).toBeUndefined()
  expect(statSync(file).size).toBe(2 ** 20)
})

test('where none can be made that is told, and nothing is missed later', async context => {
  const nowhere = new Reserve(join(temporaryFolder(), 'gone', 'reserve'))
  expect(await nowhere.layOut()).toContain('ENOENT')
  expect(await nowhere.restore()).toBeUndefined()
  nowhere.release()
  const place = disk('1m')
  if (!place) return context.skip()
  const told: string[] = []
  const tiny = new Reserve(join(place, 'reserve'), why => told.push(why))
  expect(await tiny.layOut()).toBe('the disk is too small for one')
  expect(told).toEqual([])
  expect(await tiny.restore()).toBeUndefined()
  expect(told).toEqual(['the disk is too small for one'])
})

test('a file that a read-only disk does not let go is known as a fault of the machine', context => {
  const place = disk('1m')
  if (!place) return context.skip('needs the right to mount a disk')
  const file = join(place, 'ledger.json')
  writeFileSync(`${file}.tmp`, 'left by a crash')
  execFileSync('mount', ['-o', 'remount,ro', place])
  const faultOf = (act: () => void) => {
    try {
      act()
    } catch (thrown) {
      return machineFaultOf(thrown)
    }
    return undefined
  }
  const fault = { code: 'EROFS', where: `${file}.tmp` }
  expect(faultOf(() => machineDisk.remove(fault.where))).toEqual(fault)
  expect(faultOf(() => writeWholeSync(machineDisk, file, Buffer.from('new')))).toEqual(fault)
})
