import { expect, test } from 'vitest'
import { callLimits } from '../limits.ts'
import { ProtocolViolation } from '../wire/envelope.ts'
import { Recorder } from './compliance.ts'
import { Delivery } from './delivery.ts'

const envelope = { type: 't', id: '', payload: null }
const bad = new ProtocolViolation('malformed', 'bad')

test('the end is told once, and nothing after it', () => {
  const delivery = new Delivery()
  const heard = new Recorder()
  delivery.start(heard)
  delivery.envelope(envelope)
  delivery.end('gone')
  delivery.end('again', bad)
  delivery.close('too late')
  delivery.envelope(envelope)
  delivery.drain()
  expect(heard.order).toEqual(['envelope', 'closed'])
  expect(heard.reasons).toEqual(['gone'])
})

test('a violation is told after what came before it, and before the end', () => {
  const delivery = new Delivery()
  delivery.envelope(envelope)
  delivery.end('bad', bad)
  delivery.end('closed')
  const heard = new Recorder()
  delivery.start(heard)
  expect(heard.order).toEqual(['envelope', 'violation', 'closed'])
  expect(heard.reasons).toEqual(['bad'])
})

test('whoever closes amid the last of what came gets no more of it, and no violation', () => {
  const delivery = new Delivery()
  delivery.envelope(envelope)
  delivery.envelope(envelope)
  delivery.end('bad', bad)
  const heard = new Recorder()
  heard.onEnvelope = () => delivery.close('enough')
  delivery.start(heard)
  expect(heard.order).toEqual(['envelope', 'closed'])
  expect(heard.reasons).toEqual(['enough'])
})

test('so much is kept for whoever is to come, and no more', () => {
  const delivery = new Delivery()
  for (let count = 0; count < callLimits.earlyEnvelopes; count++) expect(delivery.envelope(envelope)).toBe(true)
  expect(delivery.envelope(envelope)).toBe(false)
})

test('a carrier is held until the start, and again while consumers have not had their turn', async () => {
  const calls: string[] = []
  const delivery = new Delivery({ pause: () => calls.push('pause'), resume: () => calls.push('resume') })
  expect(calls).toEqual(['pause'])
  const heard = new Recorder()
  delivery.start(heard)
  expect(calls).toEqual(['pause', 'resume'])
  const many = callLimits.envelopesPerTurn + 1
  for (let count = 0; count < many; count++) delivery.envelope(envelope)
  expect(heard.envelopes).toHaveLength(callLimits.envelopesPerTurn)
  expect(calls).toEqual(['pause', 'resume', 'pause'])
  await heard.untilEnvelopes(many)
  await new Promise(resolve => setImmediate(resolve))
  expect(calls).toEqual(['pause', 'resume', 'pause', 'resume'])
})
