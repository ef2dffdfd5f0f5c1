// ALX as a node serves it, from a token of `parley token create` to the files of a team: real HTTP, the real SDK.
import { expect, test } from 'vitest'
import { alxNode, INTENT } from '../testing/alx.ts'

test('a solve in a domain with a team runs its commands and registers what came of it', async () => {
  const alx = await alxNode()
  const ann = await alx.as('ann')
  const solved = await ann.solve({ intent: INTENT })
  expect(solved).toMatchObject({
    success: true,
    confidence: 1,
    artifact: { type: 'procedure', origin: 'generated', domain: 'engineering', tier: 'restricted' },
    execution: { status: 'completed', attempt: 0 },
    steps: [
      { stepId: 'one', name: 'The first', status: 'completed' },
      { stepId: 'two', name: 'The second', status: 'completed' },
    ],
  })
  expect(solved.result).toContain('second is done')
})
