import { expect, test } from 'vitest'
import { dispatchErrors, errorIn, LOCAL_SYMBOLS, localError, readWireError, WIRE_CODES, wireError } from './errors.ts'
import { wireText } from './json/write.ts'

test('ALP-ERR-01 every error of the wire has its code', () => {
  expect(WIRE_CODES).toEqual({
    'capability-denied': -32001,
    'rate-limited': -32005,
    'budget-exceeded': -32005,
    'target-busy': -32007,
    'workgroup-not-member': -32008,
    'workgroup-not-hub': -32008,
    'workgroup-not-joined': -32008,
    'workgroup-not-found': -32009,
    'workgroup-paused': -32010,
    'workgroup-full': -32010,
    'invalid-request': -32600,
    'method-not-found': -32601,
    'invalid-params': -32602,
    'internal-error': -32603,
  })
})

test('ALP-ERR-01 those of dispatch carry their data, sums as floats', () => {
  const text = Object.values({
    denied: dispatchErrors.capabilityDenied('link.nope'),
    malformed: dispatchErrors.invalidRequest('method'),
    rate: dispatchErrors.rateLimited(),
    budget: dispatchErrors.budgetExceeded(1, 1),
    unknown: dispatchErrors.methodNotFound(),
    busy: dispatchErrors.targetBusy('one at a time'),
    params: dispatchErrors.invalidParams('prompt'),
    internal: dispatchErrors.internal('oh'),
    full: wireError('workgroup-not-found'),
  }).map(({ code, message, data }) => wireText({ code, message, data }))
  expect(text).toEqual([
    '{"code":-32001,"message":"capability-denied","data":{"method":"link.nope"}}',
    '{"code":-32600,"message":"invalid-request","data":{"detail":"method"}}',
    '{"code":-32005,"message":"rate-limited","data":{"window_seconds":60}}',
    '{"code":-32005,"message":"budget-exceeded","data":{"cap_kind":"usd","cap":1.0,"used":1.0}}',
    '{"code":-32601,"message":"method-not-found","data":null}',
    '{"code":-32007,"message":"target-busy","data":{"detail":"one at a time"}}',
    '{"code":-32602,"message":"invalid-params","data":{"detail":"prompt"}}',
    '{"code":-32603,"message":"internal-error","data":{"detail":"oh"}}',
    '{"code":-32009,"message":"workgroup-not-found","data":null}',
  ])
})

test('ALP-ERR-02 no code stands for what is dropped, and the historical ones are unused', () => {
  const codes = new Set<number>(Object.values(WIRE_CODES))
  for (const code of [-32700, -32002, -32003, -32004, -32006]) expect(codes.has(code)).toBe(false)
})

test('ALP-ERR-03 a local error has its symbol as its code and at the beginning of its text', () => {
  for (const symbol of LOCAL_SYMBOLS)
    expect(localError(symbol, 'what happened')).toMatchObject({ code: symbol, message: `${symbol}: what happened` })
  expect(localError('target-offline', 'x').retryable).toBe(true)
})

test.each([
  ['[error] it broke', 'it broke'],
  ['Half of it.\n\n[error] it broke', 'it broke'],
  ['Half of it.\n\n\n[error] ', ''],
  ['[error] it broke\n\nand went on', undefined],
  ['one line\n[error] of a log', undefined],
  ['[errors] none', undefined],
  ['', undefined],
])('ALP-ASK-04 %j ends with the error %j', (text, error) => {
  expect(errorIn(text)).toBe(error)
})

test('ALP-ERR-04 what an error leaves out is filled in', () => {
  expect(readWireError({ code: -32005, message: 'rate-limited', data: { window_seconds: 60 } })).toEqual({
    code: -32005,
    message: 'rate-limited',
    data: { window_seconds: 60 },
  })
  for (const value of [{}, null, 'x', undefined, { code: 'x', message: 1, data: [] }, { code: 1.5 }])
    expect(readWireError(value)).toEqual({ code: -32603, message: 'unknown', data: null })
})
