// Putting back never reaches through a link, even if one appears after the folder was looked at.
import { existsSync, mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { SystemClock } from '@parley/core'
import { expect, test } from 'vitest'
import { Contents } from '../contents.ts'
import { temporaryFolder, write } from '../testing/project.ts'
import type { FileName } from './file-name.ts'
import { putBack } from './put-back.ts'

test('files beyond a link are not removed', async () => {
  const folder = temporaryFolder()
  const outside = temporaryFolder()
  write(outside, { 'deep/secret': '1' })
  mkdirSync(join(outside, 'empty'))
  symlinkSync(outside, join(folder, 'link'))
  write(folder, { 'a/b/gone': '1', 'a/kept': '2' })
  const contents = new Contents({ gitDir: join(folder, '.git'), clock: new SystemClock() })
  await putBack(
    contents,
    { folder, index: join(folder, 'index') },
    {
      remove: ['link/deep/secret', 'a/b/gone', 'link/empty/none'] as FileName[],
      restore: [],
      empty: ['link/deep'] as FileName[],
    },
  )
  expect(existsSync(join(outside, 'deep/secret'))).toBe(true)
  expect(existsSync(join(outside, 'empty'))).toBe(true)
  expect(existsSync(join(folder, 'a/b'))).toBe(false)
  expect(existsSync(join(folder, 'a/kept'))).toBe(true)
})
