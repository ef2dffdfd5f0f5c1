import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { codeOf, must, openKnowledge, U } from '../testing/knowledge.ts'
import { factual, K1, presenting } from '../testing/known-blocks.ts'
import { libraryFailure, MemoryLibrary } from '../testing/memory-library.ts'
import { kbLimits } from './limits.ts'

test('what this version does not understand is passed over and named, and nothing else is lost', async () => {
  const library = new MemoryLibrary()
  const put = (
    type: 'knowledge_block' | 'kb.status' | 'settlement' | 'feedback.rating',
    body: Record<string, unknown>,
  ) => library.put({ type, by: 'U', body })
  put('knowledge_block', { kbHash: 'x' })
  put('knowledge_block', { kbHash: `0x${'1'.repeat(64)}`, text: '{"type":', attribution: [], queryFee: '0' })
  put('knowledge_block', { kbHash: `0x${'1'.repeat(64)}`, text: '{"type":"x"}', attribution: [], queryFee: '0' })
  put('kb.status', { kbHash: `0x${'1'.repeat(64)}`, act: 'bless' })
  put('settlement', {})
  put('feedback.rating', { rating: 5 })
  put('kb.status', { kbHash: `0x${'2'.repeat(64)}`, act: 'slash' })
  const { knowledge, problems } = await openKnowledge({ library })
  expect(problems).toHaveLength(6)
  expect(problems[0]).toContain('record 7 of the library')
  const { kbHash } = must(await knowledge.register(presenting(K1), U))
  expect(must(await knowledge.search(U, 'restores')).map(block => block.kbHash)).toEqual([kbHash])
})

test('a library that cannot be read at the moment holds requests up, and is followed again afterwards', async () => {
  const { knowledge, library, clock, problems } = await openKnowledge()
  const { kbHash } = must(await knowledge.register(presenting(K1), U))
  library.failure = libraryFailure()
  await setImmediate()
  expect(problems).toContainEqual(expect.stringContaining('could not be read'))
  // Recorded, and not known to be: whoever asks again gets it.
  expect(codeOf(await knowledge.register(presenting(factual('late')), U))).toBe('UPSTREAM_UNAVAILABLE')
  expect(codeOf(await knowledge.read(kbHash, U))).toBe('UPSTREAM_UNAVAILABLE')
  library.failure = undefined
  clock.advance(kbLimits.retryMs)
  await setImmediate()
  expect(codeOf(await knowledge.read(kbHash, U))).toBe('ok')
  expect(must(await knowledge.register(presenting(factual('late')), U)).isNew).toBe(false)
  expect(library.records).toHaveLength(2)
  expect(must(await knowledge.search(U, 'late'))).toHaveLength(1)
})

test('a library that cannot be read at the start is an error of the start', async () => {
  const library = new MemoryLibrary()
  library.failure = libraryFailure('unavailable')
  await expect(openKnowledge({ library })).rejects.toMatchObject({ code: 'unavailable', retryable: true })
})

test('envelopes beyond those in memory are read from the library again', async () => {
  const { knowledge } = await openKnowledge()
  const texts = ['a', 'b', 'c'].map(name => name.repeat(100_000))
  const hashes: string[] = []
  for (const text of texts) hashes.push(must(await knowledge.register(presenting(factual(text)), U)).kbHash)
  for (const [at, kbHash] of [...hashes, ...hashes].entries())
    expect(must(await knowledge.read(kbHash, U)).envelope.payload.text).toBe(texts[at % 3])
})
