// Errors of operations on their way to the caller (CALL-ERR-01, -02, CALL-EVT-07).
import { expect, test } from 'vitest'
import { CallError } from './error.ts'
import { OperationRegistry } from './registry.ts'
import { ResponseEnvelope } from './response.ts'
import { collect, spec, TestHead } from './testing/head.ts'

const OPS_NAMES = ['VALIDATION_ERROR', 'ACCESS_DENIED', 'EXECUTION_ERROR', 'UNKNOWN_ERROR', 'OPERATION_NOT_FOUND']

test('CALL-T76 a code of an operation that OPS uses as a name stays itself, locally, remotely and through a head', async () => {
  const registry = new OperationRegistry()
  registry.register(spec('/test/fail'), input => {
    throw new CallError(input as string, 'mine')
  })
  registry.register(spec('/test/failing', {}, 'subscription'), async function* (input) {
    yield* []
    throw new CallError(input as string, 'mine')
  })
  const head = new TestHead({ registry })
  await head.worker('dev1', { registry })
  const client = await head.join()
  for (const code of OPS_NAMES) {
    const error = { code, message: 'mine' }
    expect((await head.node.env.invoke('test', 'fail', code)).result).toMatchObject({ error })
    for (const path of ['/test/fail', '/dev1/test/fail'])
      await expect(client.call(path, code), path).rejects.toMatchObject(error)
    await expect(collect(client.subscribe('/dev1/test/failing', code))).rejects.toMatchObject(error)
  }
})

test.each([42, null, undefined, {}])('CALL-EVT-07 an error whose code is %j travels as INTERNAL', async code => {
  const registry = new OperationRegistry()
  registry.register(spec('/test/fail'), () => {
    throw new CallError(code as unknown as string, 'odd')
  })
  const head = new TestHead({ registry })
  const peer = await head.peer()
  for (const request of [{ name: '/test/fail' }, { operationId: '/test/fail' }]) {
    peer.send('call.requested', 'r1', request)
    expect(await peer.next()).toMatchObject({
      type: 'call.error',
      payload: { code: 'INTERNAL', message: 'odd' },
    })
  }
  expect((await head.node.env.invoke('test', 'fail')).result).toMatchObject({ error: { code: 'INTERNAL' } })
})

test('CALL-ERR-01 an ABORTED that a handler throws is an error like any other (D-27)', async () => {
  const registry = new OperationRegistry()
  registry.register(spec('/test/stop'), () => {
    throw new CallError('ABORTED', 'enough')
  })
  registry.register(spec('/test/stopping', {}, 'subscription'), async function* () {
    yield 1
    throw new CallError('ABORTED', 'enough')
  })
  const head = new TestHead({ registry })
  const peer = await head.peer()
  const payload = { code: 'ABORTED', message: 'enough', retryable: false }
  peer.send('call.requested', 'r1', { name: '/test/stop' })
  expect(await peer.next()).toEqual({ type: 'call.error', id: 'r1', payload })
  // Ended as aborted, the stream would look complete.
  const client = await head.join()
  await expect(collect(client.subscribe('/test/stopping'))).rejects.toMatchObject(payload)
})

test('CALL-ENV-02 a failed envelope that is written as JSON says what failed, and nothing of where', () => {
  const cause = new Error('secret')
  const error = Object.assign(new CallError('GONE', 'no such file', { details: { path: 'a' } }), { cause })
  const failed = { code: 'GONE', message: 'no such file', retryable: false, details: { path: 'a' } }
  expect(JSON.parse(JSON.stringify(ResponseEnvelope.failure('r1', error)))).toEqual({
    requestId: 'r1',
    result: { ok: false, error: failed },
  })
  expect(JSON.stringify(new CallError('TIMEOUT', 'late'))).toBe('{"code":"TIMEOUT","message":"late","retryable":true}')
  // As on the wire: an error always gets through, if need be without its details.
  expect(JSON.stringify(new CallError('ODD', '', { details: { size: 5n, cause } }))).toBe(
    '{"code":"ODD","message":"","retryable":false}',
  )
})
