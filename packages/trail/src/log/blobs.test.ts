import { describe, expect, test } from 'vitest'
import { FaultyFiles } from '../testing/memory/faulty-files.ts'
import { seededRandom } from '../testing/random.ts'
import { Blobs, blobName } from './blobs.ts'

const DATA = 'a payload that is too large for the log'
const NAME = blobName(DATA)

describe('blobs', () => {
  test('what was kept survives a power loss and is read back', async () => {
    for (let seed = 0; seed < 20; seed++) {
      const files = new FaultyFiles()
      await new Blobs(files).put(NAME, DATA)
      expect(new Blobs(files.crash(seededRandom(seed))).get(NAME)).toBe(DATA)
    }
  })

  test('keeping the same data twice, also at once, is harmless', async () => {
    const files = new FaultyFiles()
    const blobs = new Blobs(files)
    await Promise.all([blobs.put(NAME, DATA), blobs.put(NAME, DATA)])
    await blobs.put(NAME, DATA)
    expect(blobs.check(new Set([NAME]))).toEqual({
      blobs: 1,
      bytes: DATA.length,
      garbage: [],
      damaged: [],
      missing: [],
    })
  })

  test('a blob that does not match its name, or is gone, is never handed out', async () => {
    const files = new FaultyFiles()
    const blobs = new Blobs(files)
    await blobs.put(NAME, DATA)
    files.flip(`${NAME.slice(0, 2)}/${NAME}`, 3)
    expect(() => blobs.get(NAME)).toThrow('does not match its name')
    expect(() => blobs.get('0'.repeat(64))).toThrow('is not there')
    // Keeping the data again mends it.
    await blobs.put(NAME, DATA)
    expect(blobs.get(NAME)).toBe(DATA)
  })

  test('the check finds garbage, damage and what is missing', async () => {
    const files = new FaultyFiles()
    const blobs = new Blobs(files)
    const other = blobName('nobody refers to this')
    await blobs.put(NAME, DATA)
    await blobs.put(other, 'nobody refers to this')
    files.flip(`${NAME.slice(0, 2)}/${NAME}`, 0)
    const gone = 'f'.repeat(64)
    expect(blobs.check(new Set([NAME, gone]))).toMatchObject({
      blobs: 2,
      garbage: [other],
      damaged: [NAME],
      missing: [gone],
    })
  })
})
