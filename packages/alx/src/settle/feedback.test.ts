import { expect, test } from 'vitest'
import { codeOf, must, openKnowledge, U, user, V } from '../testing/knowledge.ts'
import { HASHES, K1, presenting } from '../testing/known-blocks.ts'

const executed = { isCompleted: true, artifactId: HASHES.K1 }

test('ALX-SOLVE-17 later feedback replaces the first and keeps its id; the same again records nothing', async () => {
  const { knowledge, library, clock } = await openKnowledge()
  must(await knowledge.register(U, presenting(K1)))
  const say = async (rating: -1 | 0 | 1, comment?: string) =>
    must(await knowledge.feedback(U, { executionId: 'run_1', rating, ...(comment && { comment }) }, executed))
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

  const other = must(await knowledge.feedback(V, { executionId: 'run_1', rating: 1 }, executed))
  expect(other.feedbackId).not.toBe(first.feedbackId)
  const again = await openKnowledge({ library, clock })
  for (const one of [knowledge, again.knowledge]) {
    expect(one.ratingOf('U', 'run_1')).toEqual({
      feedbackId: first.feedbackId,
      recordedAt: second.recordedAt,
      rating: -1,
      comment: 'it failed later',
      kbHash: HASHES.K1,
    })
    expect(one.reputation(V, HASHES.K1)).toMatchObject({ endorsements: 1 })
  }
})

test('ALX-SOLVE-17 only executions that completed and that the user may see have feedback', async () => {
  const { knowledge, library } = await openKnowledge()
  const input = { executionId: 'run_1', rating: 1 } as const
  expect(codeOf(await knowledge.feedback(U, input, undefined))).toBe('RUN_NOT_FOUND')
  expect(codeOf(await knowledge.feedback(U, input, { ...executed, isCompleted: false }))).toBe('FEEDBACK_NOT_ELIGIBLE')
  expect(library.records).toEqual([])
  expect(codeOf(await knowledge.feedback(U, input, { isCompleted: true, artifactId: null }))).toBe('ok')
  expect(knowledge.ratingOf('U', 'run_1')).toMatchObject({ rating: 1 })
})

test('ALX-SOLVE-17 feedback at the same time keeps one id', async () => {
  const { knowledge } = await openKnowledge()
  const all = await Promise.all(
    ([1, 0, -1, 1] as const).map(rating => knowledge.feedback(U, { executionId: 'run_1', rating }, executed)),
  )
  expect(new Set(all.map(one => must(one).feedbackId)).size).toBe(1)
})

test('ALX-SETTLE-09 reputation counts paid queries and people, not how often one of them says the same', async () => {
  const { knowledge } = await openKnowledge()
  must(await knowledge.register(U, presenting(K1, { queryFee: '1' })))
  for (let at = 0; at < 10; at++) {
    must(await knowledge.feedback(V, { executionId: `run_${at}`, rating: 1 }, executed))
    must(await knowledge.settle(user(`u${at}`), { queryId: 'q', kbHash: HASHES.K1, amount: '1' }))
  }
  expect(knowledge.reputation(U, HASHES.K1)).toEqual({ score: 40, queryVolume: 10, endorsements: 1 })
})
