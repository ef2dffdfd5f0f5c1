// Files that are replaced whole, step by step.
import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { machineDisk } from './disk.ts'
import { writeWhole, writeWholeSync } from './whole-file.ts'

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'parley-keys-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Notes what is asked of a disk; `fails` names the step that fails. */
function noting(fails?: string) {
  const steps: string[] = []
  const step = (name: string) => {
    steps.push(name)
    if (name === fails) throw new Error(name)
  }
  return {
    steps,
    files: {
      exists: () => true,
      remove: (path: string) => step(`remove ${path}`),
      open(path: string) {
        step(`open ${path}`)
        return { write: () => step('write'), sync: async () => step('sync'), close: () => step('close') }
      },
      rename: (from: string, to: string) => step(`rename ${from} ${to}`),
      syncFolder: async (folder: string) => step(`sync folder ${folder}`),
    },
  }
}

const BYTES = Buffer.from('new')

test('a file is replaced once its content is durable, and then its name is made so', async () => {
  const { files, steps } = noting()
  await writeWhole(files, 'a/b', BYTES)
  expect(steps).toEqual([
    'remove a/b.tmp',
    'open a/b.tmp',
    'write',
    'sync',
    'close',
    'rename a/b.tmp a/b',
    'sync folder a',
  ])
})

test.each(['write', 'sync'])('a %s that fails leaves the old file, and nothing open', async fails => {
  const { files, steps } = noting(fails)
  await expect(writeWhole(files, 'b', BYTES)).rejects.toThrow(fails)
  expect(steps.at(-1)).toBe('close')
})

test('a folder that cannot be synced is an error', async () => {
  await expect(writeWhole(noting('sync folder ').files, 'b', BYTES)).rejects.toThrow('sync folder')
})

test('on a real disk the mode is what was asked for, whatever a crash or somebody else has left', () => {
  const folder = temporaryFolder()
  const [path, elsewhere] = [join(folder, 'deep', 'file'), join(folder, 'elsewhere')]
  writeWholeSync(machineDisk, path, Buffer.from('old'), { folderMode: 0o750 })
  expect(statSync(join(folder, 'deep')).mode & 0o777).toBe(0o750)
  expect(statSync(path).mode & 0o777).toBe(0o600)
  chmodSync(path, 0o666)
  symlinkSync(elsewhere, `${path}.tmp`)
  writeWholeSync(machineDisk, path, BYTES, { mode: 0o644 })
  expect(readFileSync(path, 'utf8')).toBe('new')
  expect(statSync(path).mode & 0o777).toBe(0o644)
  expect(readdirSync(join(folder, 'deep'))).toEqual(['file'])
  expect(readdirSync(folder)).toEqual(['deep'])
})

test('a file with more bytes than are wanted is not read', () => {
  const path = join(temporaryFolder(), 'file')
  writeFileSync(path, 'four')
  expect(machineDisk.read(path, 4)?.toString()).toBe('four')
  expect(() => machineDisk.read(path, 3)).toThrow(expect.objectContaining({ code: 'file_too_large' }))
  expect(machineDisk.read(`${path}s`, 4)).toBeUndefined()
})
