// The trail names objects and does not copy them (W-ENV-19, W-CP-14, W-TASK-20, W-TRAIL-32).
import { checkBody, EVENT_TYPES } from '@parley/trail/events'
import { exampleBody } from '@parley/trail/testing'
import { expect, test } from 'vitest'

const MARKER = 'marker-7f3a'

test('W-TRAIL-32 the trail refuses a body with a payload in it, whatever the event', () => {
  for (const type of EVENT_TYPES) {
    for (const field of ['payload', 'content', 'artifacts', 'intent', 'directive_text', 'subject_value']) {
      const body = { ...exampleBody(type), [field]: { text: MARKER } }
      expect([type, field, checkBody(type, body)?.code]).toEqual([type, field, 'invalid_body'])
    }
    // A reference where one belongs, and nothing else in its place.
    const spoiled = { ...exampleBody(type) } as Record<string, unknown>
    if ('subject' in spoiled) {
      spoiled.subject = { ...(spoiled.subject as object), value: MARKER }
      expect(checkBody(type, spoiled)?.code).toBe('invalid_body')
    }
  }
  const description = { ...exampleBody('task_created'), description: MARKER }
  expect(checkBody('task_created', description)?.code).toBe('invalid_body')
})
