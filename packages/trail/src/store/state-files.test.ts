// States beside the trail: whole or not there, for their owner alone, and never taken for what they are not.
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { RunId } from '@parley/core'
import { expect, test } from 'vitest'
import { trailLimits } from '../limits.ts'
import { temporaryFolder } from '../testing/temporary.ts'
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
