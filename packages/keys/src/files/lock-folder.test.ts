import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { lockFolder } from './lock-folder.ts'

test('a folder is held by one, until that one gives it up', () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-lock-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const first = lockFolder(folder)
  if (!first.ok) throw new Error('nobody else holds it')
  expect(lockFolder(folder)).toMatchObject({ ok: false, error: { owner: String(process.pid) } })
  first.value.release()
  first.value.release()
  const second = lockFolder(folder)
  expect(second.ok).toBe(true)
  if (second.ok) second.value.release()
})
