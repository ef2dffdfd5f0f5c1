import { describe, expect, test } from 'vitest'
import { readWhole, writeWhole } from '../../log/files.ts'
import { seededRandom } from '../random.ts'
import { FaultyFiles } from './faulty-files.ts'

const never = () => 0.999
const always = () => 0

function text(files: FaultyFiles, path: string): string | undefined {
  return readWhole(files, path)?.toString('latin1')
}

describe('the faulty twin of the file layer', () => {
  test('what was synced survives a power loss, what was not may be kept, lost or torn', async () => {
    const outcomes = new Set<string>()
    for (let seed = 0; seed < 60; seed++) {
      const files = new FaultyFiles()
      const file = files.open('a', 'create')
      file.write(Buffer.alloc(1024, 'o'), 0)
      await file.sync()
      await files.syncFolder('')
      file.write(Buffer.alloc(1024, 'n'), 0)
      const after = text(files.crash(seededRandom(seed)), 'a')
      expect(after).toHaveLength(1024)
      for (const sector of [after!.slice(0, 512), after!.slice(512)]) {
        outcomes.add(sector === 'o'.repeat(512) ? 'lost' : sector === 'n'.repeat(512) ? 'kept' : 'torn')
        expect(sector).toMatch(/^n*o*$/)
      }
    }
    expect(outcomes).toEqual(new Set(['lost', 'kept', 'torn']))
  })

  test('a name that was not synced may vanish, and a rename is never half done', async () => {
    for (const [random, outcome] of [
      [always, 'old'],
      [never, 'new'],
    ] as const) {
      const files = new FaultyFiles()
      await writeWhole(files, 'a', Buffer.from('old'))
      const file = files.open('b', 'create')
      file.write(Buffer.from('new'), 0)
      await file.sync()
      files.rename('b', 'a')
      const after = files.crash(random)
      expect([text(after, 'a'), after.exists('b')]).toEqual([outcome, false])
    }
  })

  test('a failed sync is not made good by a later one', async () => {
    const files = new FaultyFiles()
    const file = files.open('a', 'create')
    await files.syncFolder('')
    file.write(Buffer.from('first'), 0)
    files.fail('sync')
    await expect(file.sync()).rejects.toMatchObject({ code: 'EIO' })
    await file.sync()
    expect(text(files.crash(always), 'a')).not.toBe('first')
  })

  test('the nth write fails, space runs out, a bit flips, a file is cut', async () => {
    const files = new FaultyFiles()
    const file = files.open('a', 'create')
    files.fail('write', { after: 1 })
    file.write(Buffer.from('one'), 0)
    expect(() => file.write(Buffer.from('two'), 3)).toThrow('EIO')
    files.mend()
    files.capacity = 10
    expect(() => file.write(Buffer.alloc(20), 0)).toThrow('ENOSPC')
    files.mend()
    file.write(Buffer.from('abc'), 0)
    files.flip('a', 1)
    expect(text(files, 'a')?.slice(0, 3)).toBe('acc')
    files.cut('a', 1)
    expect(text(files, 'a')).toBe('a')
  })

  test('whoever held the disk before a crash can do nothing any more', () => {
    const files = new FaultyFiles()
    const file = files.open('a', 'create')
    files.crash(always)
    expect(() => file.write(Buffer.from('x'), 0)).toThrow('EBADF')
    expect(() => files.list('')).toThrow('EBADF')
  })
})
