// The record of what people did with results: it has no end of its own.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type RunId, SystemClock, SystemIds, unwrap } from '@parley/core'
import { Runtime } from '@parley/kernel'
import { openTrail } from '@parley/trail'
import { expect, onTestFinished, test } from 'vitest'
import { Users } from '../people/users.ts'
import { HouseRecords } from './house-record.ts'

/** More than an inbox and what may wait for it hold together (limits.ts of the kernel). */
const MANY = 5_200

test('a person can apply results for years: what is recorded of it never fills an inbox', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-house-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const trail = await openTrail(folder, { signer: null })
  onTestFinished(() => trail.close())
  const secret = Buffer.alloc(32, 7)
  const runtime = await Runtime.open({ trail, clock: new SystemClock(), ids: new SystemIds(), users: 'house', secret })
  onTestFinished(() => runtime.close())
  unwrap(
    await new Users(runtime.users, async () => []).accept(
      { id: 'ada', kind: 'user', scopes: ['owner'] },
      'unix-socket',
    ),
  )
  const records = new HouseRecords(runtime)
  const step = (at: number) =>
    ({
      parley: 'apply',
      id: `a${at}`,
      run: `run_${at}` as RunId,
      how: 'squash',
      folder: '/p',
      from: 'x',
      to: 'y',
    }) as const
  for (let at = 0; at < MANY; at += 400)
    await Promise.all(
      Array.from({ length: 400 }, async (_, more) => unwrap(await records.write('ada', step(at + more)))),
    )
  expect(await records.applications()).toHaveLength(MANY)
})
