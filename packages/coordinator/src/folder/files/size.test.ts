// Bounds on files and bytes, and the folders that an error names.
import { expect, test } from 'vitest'
import { folderLimits } from '../limits.ts'
import { largestFolders, requireSize } from './size.ts'

const what = { code: 'too_large', of: 'It', more: false }
const many = (folder: string, count: number, bytes = 1) =>
  Array.from({ length: count }, (_, number) => ({ name: `${folder}/${number}`, bytes }))

test('as many files and bytes as the limits say, and not one more', () => {
  requireSize(many('a', folderLimits.files), what)
  expect(() => requireSize(many('a', folderLimits.files + 1), what)).toThrow(
    `more than 50000 files. The largest folders are a/ (50001 files`,
  )
  requireSize([{ name: 'a', bytes: folderLimits.bytes }], what)
  expect(() => requireSize([{ name: 'a', bytes: folderLimits.bytes + 1 }], what)).toThrow('1024 MiB')
  expect(() => requireSize([], { ...what, more: true })).toThrow('more than 50000 files. List')
})

test('a folder that only leads to a large one is not named, one with many large ones is', () => {
  const files = [
    ...many('packages/web/node_modules/left', 60),
    ...many('packages/web/node_modules/right', 60),
    ...many('packages/web/src', 5),
    ...many('dist', 30, 100),
  ]
  expect(largestFolders(files, 'files').map(each => each.folder)).toEqual([
    'packages/web/node_modules',
    'dist',
    'packages/web/src',
  ])
  expect(largestFolders(files, 'bytes')[0]).toEqual({ folder: 'dist', files: 30, bytes: 3000 })
})
