import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder, writeKeys } from '../testing/homes.ts'
import { identityVector } from '../testing/vectors.ts'
import { alpiLayout, isProfileName, localSocket, parleyLayout } from './local.ts'

const socketOf = (home: string) => join(home, 'alp', 'alp.sock')
const keyOf = (name: string) => identityVector(name).pubkey_b64

test('ALP-UNIX-07 the profile that holds the key is found, the root first, then the others by name', () => {
  const root = temporaryFolder()
  const layouts = [alpiLayout(root)]
  const work = writeKeys(join(root, 'profiles', 'work'), 'alice')
  expect(localSocket(keyOf('alice'), layouts)).toBe(socketOf(work))
  const archive = writeKeys(join(root, 'profiles', 'archive'), 'alice')
  expect(localSocket(keyOf('alice'), layouts)).toBe(socketOf(archive))
  writeKeys(root, 'alice')
  expect(localSocket(keyOf('alice'), layouts)).toBe(socketOf(root))
})

test('ALP-UNIX-07 a profile without both of its files is passed over', () => {
  const root = temporaryFolder()
  writeKeys(root, 'alice', ['public'])
  writeKeys(join(root, 'profiles', 'a'), 'alice', ['private'])
  const whole = writeKeys(join(root, 'profiles', 'b'), 'alice')
  expect(localSocket(keyOf('alice'), [alpiLayout(root)])).toBe(socketOf(whole))
})

test('ALP-UNIX-07 where no profile holds the key there is no socket, whatever the profiles are called', () => {
  const root = temporaryFolder()
  writeKeys(root, 'alice')
  writeKeys(join(root, 'profiles', 'bob'), 'carol')
  expect(localSocket(keyOf('bob'), [alpiLayout(root), parleyLayout(join(root, 'profiles'))])).toBeUndefined()
})

test('ALP-UNIX-07 profiles of Parley and of an installed alpi are searched alike', () => {
  const [parley, alpi] = [temporaryFolder(), temporaryFolder()]
  const layouts = [parleyLayout(parley), alpiLayout(alpi)]
  writeKeys(alpi, 'alice')
  expect(localSocket(keyOf('alice'), layouts)).toBe(socketOf(alpi))
  const own = writeKeys(join(parley, 'zoo'), 'alice')
  expect(localSocket(keyOf('alice'), layouts)).toBe(socketOf(own))
  const first = writeKeys(join(parley, 'default'), 'alice')
  expect(localSocket(keyOf('alice'), layouts)).toBe(socketOf(first))
  expect(localSocket(keyOf('bob'), layouts)).toBeUndefined()
  mkdirSync(join(parley, '.hidden'))
  expect(parleyLayout(parley).homes()).toEqual([first, own])
  expect(parleyLayout(join(parley, 'missing')).homes()).toHaveLength(1)
})

test('names of profiles follow the rule of the sheet', () => {
  for (const name of ['a', 'A9', 'home-server', 'a.b_c']) expect(isProfileName(name)).toBe(true)
  for (const name of ['', '_a', 'a..b', 'a b', 'a/b']) expect(isProfileName(name)).toBe(false)
})
