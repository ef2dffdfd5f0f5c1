import { chmodSync, lstatSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { ground } from '../testing/ground.ts'
import { narrowModes } from './modes.ts'

function wide(...files: readonly string[]) {
  const profile = join(ground().home, 'wide')
  for (const file of files) {
    mkdirSync(join(profile, dirname(file)), { recursive: true })
    writeFileSync(join(profile, file), '')
    chmodSync(join(profile, file), 0o666)
    for (let folder = dirname(file); folder !== '.'; folder = dirname(folder)) chmodSync(join(profile, folder), 0o777)
  }
  return { profile, mode: (path: string) => (lstatSync(join(profile, path)).mode & 0o777).toString(8) }
}

test('everything that a profile holds is narrowed, down to the last folder; what may be run stays so', () => {
  const files = ['alp/secrets/alp_key.pem', 'logs/node.log', 'blobs/ab/cd', 'trail/runs/run_1/1.zst', 'reserve']
  const { profile, mode } = wide(...files, 'alp/secrets/alp_key.pub', 'bin/parley')
  chmodSync(join(profile, 'bin/parley'), 0o755)
  narrowModes(profile)
  for (const file of files) expect([file, mode(file)]).toEqual([file, '600'])
  for (const folder of ['alp', 'alp/secrets', 'logs', 'blobs', 'blobs/ab', 'trail/runs/run_1', 'bin'])
    expect([folder, mode(folder)]).toEqual([folder, '700'])
  expect(mode('alp/secrets/alp_key.pub')).toBe('644')
  expect(mode('bin/parley')).toBe('700')
})

test('files of projects and what a link leads to stay as they are', () => {
  const { profile, mode } = wide('runs/run_1/work/a.txt', 'logs/node.log')
  const other = wide('elsewhere/b.txt')
  symlinkSync(join(other.profile, 'elsewhere'), join(profile, 'cold'))
  narrowModes(profile)
  expect(mode('runs')).toBe('700')
  expect(mode('runs/run_1/work/a.txt')).toBe('666')
  expect(other.mode('elsewhere')).toBe('777')
  expect(other.mode('elsewhere/b.txt')).toBe('666')
})

test('where there is more than may be looked at, secrets come first and blobs last', () => {
  const { profile, mode } = wide('alp/secrets/alp_key.pem', 'blobs/ab', 'trail/log')
  narrowModes(profile, 1)
  expect([mode('alp/secrets/alp_key.pem'), mode('alp')]).toEqual(['600', '777'])
  // The secret, the three folders, what is in the folders of alp and its secrets again, and the log.
  narrowModes(profile, 7)
  expect([mode('trail/log'), mode('blobs'), mode('blobs/ab')]).toEqual(['600', '700', '666'])
  narrowModes(profile)
  expect(mode('blobs/ab')).toBe('600')
})
