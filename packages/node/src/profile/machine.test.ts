// A node whose machine is at fault, asked from outside.
import { existsSync, mkdirSync, rmSync, statSync } from 'node:fs'
import { expect, test } from 'vitest'
import { LogFile } from '../log/log-file.ts'
import { refusal } from '../testing/calls.ts'
import { ground } from '../testing/ground.ts'
import { startedNode } from '../testing/started.ts'

const HELD = {
  code: 'ENOSPC',
  where: '/full',
  since: '2026-01-01T00:00:00.000000Z',
  message: 'Held up by the machine: the disk is full (ENOSPC at /full).',
} as const

test('the status tells what holds the node up, and a peer is not asked meanwhile', async () => {
  const { client, coordinator, place } = await startedNode()
  expect((await client.call('node', 'status', {})).machine).toBeNull()
  const { paths } = place.config()
  expect(statSync(paths.reserve).size).toBeGreaterThan(0)
  coordinator.held = HELD
  expect((await client.call('node', 'status', {})).machine).toEqual(HELD)
  const asked = async () => {
    for await (const _ of client.subscribe('link', 'ask', { peer: 'bob', prompt: 'x' }));
  }
  expect(await refusal(asked())).toMatchObject({
    code: 'machine_fault',
    message: expect.stringContaining('Nothing was asked; ask again then.'),
  })
})

test('a node whose reserve cannot be made starts all the same, and says so once', async () => {
  const place = ground()
  const { paths } = place.config()
  // A folder in its place.
  mkdirSync(paths.reserve, { recursive: true })
  const { client, log } = await startedNode({ place })
  expect((await client.call('node', 'status', {})).machine).toBeNull()
  expect(log.lines.filter(({ message }) => message.includes('No room is kept for a full disk'))).toHaveLength(1)
})

test('a log that could not be opened again when it was put aside goes on when it can', () => {
  const place = ground()
  const folder = place.path('logs')
  mkdirSync(folder, { recursive: true })
  const file = `${folder}/node.log`
  const log = new LogFile(file, { bytes: 10 })
  log.write('12345678\n')
  // What it is put aside to cannot be replaced, and its own place is a folder for a while.
  rmSync(folder, { recursive: true })
  log.write('12345678\n')
  expect(log.lost).toBe(1)
  expect(existsSync(file)).toBe(false)
  mkdirSync(folder)
  log.write('again\n')
  expect(statSync(file).size).toBe(6)
  log.close()
  log.write('never\n')
  expect(statSync(file).size).toBe(6)
})
