// A stream of events is open, and its token ends: by hand, or with its user.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createAlxClient } from '@parley/alx-client'
import { expect, test } from 'vitest'
import { alxNode, INTENT } from '../testing/alx.ts'
import { waitingTeam } from '../testing/alx-process.ts'
import { ground } from '../testing/ground.ts'

test.each(['its token is revoked', 'its user is suspended'])(
  'a stream ends before its next event when %s',
  async how => {
    const place = ground()
    const gate = join(place.home, 'go')
    const alx = await alxNode({
      place,
      team: waitingTeam(gate),
    })
    const token = await alx.token('ann')
    const stream = createAlxClient({ baseUrl: alx.base, token }).solveStream({ intent: INTENT })
    const answer = stream.response.catch((thrown: unknown) => thrown)
    const events = stream[Symbol.asyncIterator]()
    const seen: string[] = []
    const read = async (until: string) => {
      for (;;) {
        const next = await events.next()
        if (next.done) return 'over'
        seen.push(next.value.type)
        if (next.value.type === until && seen.includes('step.completed')) return until
      }
    }
    await read('step.started')
    // Somebody else's stream of the same kind goes on.
    const bob = (await alx.as('bob')).solveStream({ intent: INTENT })

    if (how === 'its token is revoked') {
      const { tokens } = await alx.client.call('tokens', 'list', {})
      const { id } = tokens.find(({ user }) => user === 'ann')!
      await alx.client.call('tokens', 'revoke', { id })
    } else await alx.client.call('users', 'change', { user: 'ann', act: 'suspend' })
    const before = [...seen]
    writeFileSync(gate, '')

    expect(await read('run.completed').catch(thrown => thrown.code)).toBe('UNAUTHORIZED')
    expect(seen).toEqual(before)
    expect(await answer).toMatchObject({ code: 'UNAUTHORIZED' })
    const run = stream.executionId!
    const again = await alx.request(`/alx/v1/runs/${run}/events`, { token, headers: { accept: 'text/event-stream' } })
    expect(again).toMatchObject({ status: 401, body: { ok: false, error: { code: 'UNAUTHORIZED' } } })
    // The run itself goes on to its end.
    const state = async () => (await alx.client.call('runs', 'show', { run })).state
    await expect.poll(state, { timeout: 20_000 }).toBe('done')
    expect((await bob.response).success).toBe(true)
  },
)
