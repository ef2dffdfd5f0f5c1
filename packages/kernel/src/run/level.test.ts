// The level that a runtime claims (§12.2): it opens with what the level takes, or not at all; and from level 2 on
// nobody acts who was not authenticated (§11.3, §11.8).
import { type ParleyError, type SignalId, unwrap } from '@parley/core'
import { Trail } from '@parley/trail'
import { openMemoryStore } from '@parley/trail/testing'
import { expect, onTestFinished, test } from 'vitest'
import { Runtime } from '../runtime/runtime.ts'
import type { RuntimeOptions } from '../runtime/runtime-options.ts'
import { refused } from '../testing/fixture.ts'
import { EVERYBODY, GUARDS } from '../testing/guards.ts'
import { person, withUsers } from '../testing/people.ts'
import type { Level } from './level.ts'

async function memoryTrail(): Promise<Trail> {
  const trail = new Trail({ store: await openMemoryStore() })
  onTestFinished(() => trail.close())
  return trail
}

const { secret } = GUARDS
test.each<[Level | undefined, Partial<RuntimeOptions>, readonly RegExp[]]>([
  [undefined, {}, [/`secret`/, /`users`/]],
  [3, { users: EVERYBODY }, [/`secret`/]],
  [3, { secret }, [/`users`/]],
  [2, {}, [/`secret`/, /`users`/]],
  [2, { users: 'house' }, [/`secret`/]],
  [2, { secret }, [/`users`/]],
])('W-SEC-07 level %s with %o does not open, says all that is missing, and leaves no trail', async (...given) => {
  const [level, options, expected] = given
  const trail = await memoryTrail()
  const opened = Runtime.open({ trail, ...options, ...(level !== undefined && { level }) })
  const error: ParleyError = await opened.catch(cause => cause)
  expect(error).toMatchObject({
    code: 'unsupported',
    details: { reason: 'unmet_level', level: level ?? 3 },
  })
  const { missing } = error.details as { missing: readonly string[] }
  expect(missing).toHaveLength(expected.length)
  for (const [index, each] of expected.entries()) expect(missing[index]).toMatch(each)
  expect(await trail.runs()).toEqual([])
})

test('W-SEC-07 level 1 opens with neither, levels 2 and 3 with both, and there is no other', async () => {
  for (const options of [{ level: 1 }, { level: 2, ...GUARDS }, { level: 3, ...GUARDS }, GUARDS] as const) {
    const runtime = await Runtime.open({ trail: await memoryTrail(), ...options })
    await runtime.close()
  }
  const opened = Runtime.open({ trail: await memoryTrail(), ...GUARDS, level: 4 as never })
  await expect(opened).rejects.toMatchObject({
    code: 'invalid_argument',
    details: { reason: 'unknown_level' },
  })
})

test('W-SEC-05 whoever was not authenticated does nothing, whatever they ask for, and each attempt is on record', async () => {
  const f = await withUsers({ level: 2, run: { highway: 'gated' } })
  const gated = await f.root.createWorkspace({ role: 'worker' })
  const gate = (gated.ok ? undefined : gated.error.details.gate) as never
  const known = await person(f, 'alice', 'inject_directive_any', 'abort_any', 'view_trail_any')
  const stranger = f.runtime.user('mallory')
  const root = f.id('R')
  const before = await f.picture()
  await f.mark()
  const attempts: readonly (() => Promise<unknown>)[] = [
    () => stranger.inject(f.run.id, f.mail('R', 'directive')),
    () => stranger.approve(f.run.id, gate),
    () => stranger.answerEscalation(f.run.id, 'sig_1' as SignalId, { type: 'delegation' } as never),
    () => stranger.abort(f.run.id, root),
    () => stranger.suspend(f.run.id, root, 'stop'),
    () => stranger.resume(f.run.id, root),
    () => stranger.raiseBudget(f.run.id, root, { cost_limit: 9 }),
    () => stranger.transferOwnership(f.run.id, root, 'alice'),
    () => stranger.query(f.run.id, {}),
    () => stranger.watch(f.run.id),
  ]
  for (const attempt of attempts)
    expect(refused((await attempt()) as never)).toBe('permission_denied(unknown_identity)')
  const added = await f.added()
  expect(added.map(({ event_type, body }) => [event_type, (body as { entity?: string }).entity])).toEqual(
    attempts.map(() => ['authentication_failed', 'mallory']),
  )
  expect(await f.picture()).toEqual(before)
  unwrap(await known.query(f.run.id, {}))
  // Nobody can put another's name on a handle that they hold.
  expect(() => Object.assign(known, { id: 'ux' })).toThrow(TypeError)
  expect(known.id).toBe('alice')
})
