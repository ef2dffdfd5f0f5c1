import type { RunId } from '@parley/core'
import { expect, test } from 'vitest'
import { must, openKnowledge, U, user, V } from '../testing/knowledge.ts'
import { HASHES, K1, presenting } from '../testing/known-blocks.ts'

const run = 'run_1' as RunId
const executed = { run, user: 'U', artifactId: HASHES.K1 }

test('ALX-SOLVE-17 later feedback replaces the first and keeps its id; the same again records nothing', async () => {
  const { knowledge, library, clock } = await openKnowledge()
  must(await knowledge.register(presenting(K1), U))
  const say = async (rating: -1 | 0 | 1, comment?: string) =>
    must(await knowledge.feedback({ executionId: 'run_1', rating, ...(comment && { comment }) }, U, executed))
  const first = await say(1)
  expect(first).toEqual({
    executionId: 'run_1',
    feedbackId: expect.stringMatching(/^fb_[0-9a-z]{26}$/),
    recordedAt: expect.stringMatching(/Z$/),
  })
  expect(await say(1)).toEqual(first)
  expect(library.records).toHaveLength(2)
  expect(knowledge.reputation(V, HASHES.K1)).toEqual({ score: 20, queryVolume: 0, endorsements: 1 })
  clock.advance(60_000)
  const second = await say(-1, 'it failed later')
  expect(second).toMatchObject({ feedbackId: first.feedbackId })
  expect(second.recordedAt > first.recordedAt).toBe(true)
  expect(knowledge.reputation(V, HASHES.K1)).toMatchObject({ endorsements: 0 })

  const other = must(await knowledge.feedback({ executionId: 'run_1', rating: 1 }, V, executed))
  expect(other.feedbackId).not.toBe(first.feedbackId)
  const again = await openKnowledge({ library, clock })
  for (const one of [knowledge, again.knowledge]) {
    expect(one.learning(run)).toEqual({
      eligible: true,
      feedbackId: other.feedbackId,
      recordedAt: other.recordedAt,
      improvement: null,
    })
    expect(one.reputation(V, HASHES.K1)).toMatchObject({ endorsements: 1 })
  }
})

test('ALX-SOLVE-17 feedback on a run without a block is kept too, and nothing was said before', async () => {
  const { knowledge } = await openKnowledge()
  const nothing = { eligible: true, feedbackId: null, recordedAt: null, improvement: null }
  expect(knowledge.learning(run)).toEqual(nothing)
  const said = must(await knowledge.feedback({ executionId: run, rating: -1 }, U, { run, user: 'U' }))
  expect(knowledge.learning(run)).toEqual({ ...nothing, feedbackId: said.feedbackId, recordedAt: said.recordedAt })
})

test('ALX-SOLVE-17 feedback that was replaced counts no more', async () => {
  const { knowledge } = await openKnowledge()
  must(await knowledge.register(presenting(K1), U))
  for (const rating of [1, 0] as const) must(await knowledge.feedback({ executionId: 'run_1', rating }, V, executed))
  expect(knowledge.reputation(U, HASHES.K1)).toEqual({ score: 0, queryVolume: 0, endorsements: 0 })
})

test('ALX-SOLVE-17 feedback at the same time keeps one id', async () => {
  const { knowledge } = await openKnowledge()
  const all = await Promise.all(
    ([1, 0, -1, 1] as const).map(rating => knowledge.feedback({ executionId: 'run_1', rating }, U, executed)),
  )
  expect(new Set(all.map(one => must(one).feedbackId)).size).toBe(1)
})

test('ALX-SETTLE-09 reputation counts paid queries and people, not how often one of them says the same', async () => {
  const { knowledge } = await openKnowledge()
  must(await knowledge.register(presenting(K1, { queryFee: '1' }), U))
  for (let at = 0; at < 10; at++) {
    must(await knowledge.feedback({ executionId: `run_${at}`, rating: 1 }, V, executed))
    must(await knowledge.settle({ queryId: 'q', kbHash: HASHES.K1, amount: '1' }, user(`u${at}`)))
  }
  expect(knowledge.reputation(U, HASHES.K1)).toEqual({ score: 40, queryVolume: 10, endorsements: 1 })
})
