import { expect, test } from 'vitest'
import { ParleyError } from './error.ts'
import { isDiskFault, machineCodes, machineFaultOf, machineFaultText, systemCode } from './machine-fault.ts'

const system = (code: string, more: object = {}) =>
  Object.assign(new Error(`${code}: something, write`), { code, syscall: 'write', ...more })

test.each(machineCodes)('%s is the machine’s, however deep it lies', code => {
  const cause = system(code, { path: '/p/file', syscall: 'spawn git' })
  const fault = { code, where: '/p/file' }
  expect(machineFaultOf(cause)).toEqual(fault)
  const full = new ParleyError('trail_full', 'no room', { cause })
  expect(machineFaultOf(new ParleyError('trail_unavailable', 'nothing was done', { cause: full }))).toEqual(fault)
  expect(machineFaultText(fault)).toContain(`(${code} at /p/file)`)
})

test('a quota that is used up is one, for which Node.js has no name', () => {
  for (const errno of [-122, -69])
    for (const name of ['UNKNOWN', `Unknown system error ${errno}`]) {
      expect(machineFaultOf(system(name, { errno, path: '/p/file' }))).toEqual({ code: 'EDQUOT', where: '/p/file' })
      expect(systemCode(system(name, { errno }))).toBe('EDQUOT')
    }
  expect(machineFaultOf(system('UNKNOWN', { errno: -4094 }))).toBeUndefined()
})

test('what crossed a thread or a process as details counts as well', () => {
  const error = new ParleyError('git_failed', 'git could not be started', { details: { system: 'EMFILE' } })
  expect(machineFaultOf(error)).toEqual({ code: 'EMFILE' })
  expect(machineFaultOf(Object.assign(new Error('full'), { code: 'ERR_SQLITE_ERROR', errcode: 13 }))?.code).toBe(
    'ENOSPC',
  )
  expect(machineFaultOf(Object.assign(new Error('io'), { code: 'ERR_SQLITE_ERROR', errcode: 778 }))?.code).toBe('EIO')
  // As it comes from another thread.
  const details = { system: 'ERR_SQLITE_ERROR', errcode: 13 }
  expect(machineFaultOf(new ParleyError('index_failed', 'full', { details }))?.code).toBe('ENOSPC')
})

test('what only a restart ends is not waited for, whatever brought it about', () => {
  const error = new ParleyError('keys_uncertain', 'start again', { cause: system('ENOSPC') })
  expect(machineFaultOf(error)).toBeUndefined()
})

test('anything else is not, whatever its message quotes', () => {
  const quoted = new ParleyError('exit_nonzero', 'ENOSPC: No space left on device', {
    details: { stderr: 'ENOSPC' },
  })
  const around = new Error('a circle')
  around.cause = around
  const busy = Object.assign(new Error('locked'), { code: 'ERR_SQLITE_ERROR', errcode: 5 })
  const later = system('EAGAIN', { syscall: 'read' })
  for (const each of [quoted, around, busy, later, system('ENOENT'), system('EACCES'), 'ENOSPC', null, undefined])
    expect(machineFaultOf(each)).toBeUndefined()
})

test('only faults of a disk can be looked at by writing to it', () => {
  expect(machineCodes.filter(code => isDiskFault({ code }))).toEqual(['ENOSPC', 'EDQUOT', 'EROFS', 'EIO'])
})
