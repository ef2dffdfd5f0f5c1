import { expect, test } from 'vitest'
import { inFront, missingProgram } from './find-program.ts'

test('an empty part of a PATH would mean the current folder, and is not made', () => {
  expect(inFront('/bin', undefined)).toBe('/bin')
  expect(inFront('/bin', '')).toBe('/bin')
  expect(inFront(undefined, '/a:/b')).toBe('/a:/b')
  expect(inFront('/bin', '/a:/b')).toBe('/bin:/a:/b')
})

test('a program is missed only where it can be told, and it is said where it was looked for', () => {
  const place = { path: '/nowhere', base: '/project' }
  expect(missingProgram('none', place)).toMatchObject({ name: 'none', looked: expect.stringContaining('PATH') })
  expect(missingProgram('./none', place)).toMatchObject({ looked: expect.stringContaining('/project') })
  expect(missingProgram('/none', place)).toEqual({ name: '/none', looked: undefined })
  expect(missingProgram('sh', { ...place, bin: '/bin' })).toBeUndefined()
  expect(missingProgram('{folder}/tool', place)).toBeUndefined()
  expect(missingProgram('none', { ...place, path: 'node_modules/.bin' })).toBeUndefined()
})
