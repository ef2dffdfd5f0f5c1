// A key that is lost, damaged or exchanged is refused and never replaced: a new one would be another identity.
import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { Timestamp } from '@parley/core'
import { describe, expect, test } from 'vitest'
import { keyProblem, profileKey, profileSigner } from '../key-file.ts'
import { DiskFiles } from '../log/disk-files.ts'
import { openTrail } from '../open-trail.ts'
import { temporaryFolder, temporaryTrail } from '../testing/temporary.ts'
import { KeyRing } from './key-ring.ts'
import { ProfileKeys } from './profile-keys.ts'

/** What a profile that was used before knows of its key: the key, the public file and the list of keys. */
async function used() {
  const profile = temporaryFolder()
  await opened(profile)
  const file = (...parts: string[]) => join(profile, ...parts)
  return {
    profile,
    key: file('alp', 'secrets', 'alp_key.pem'),
    pub: file('alp', 'secrets', 'alp_key.pub'),
    next: file('alp', 'secrets', 'alp_key.next.pem'),
    list: file('trail', 'keys.json'),
  }
}

/** As a trail that is opened does, without the trail. */
async function opened(profile: string): Promise<string> {
  const ring = new KeyRing(new DiskFiles(join(profile, 'trail')))
  const at = '2026-11-16T10:00:00.000000Z' as Timestamp
  return (await ProfileKeys.open(profileKey(profile), ring, at, at)).signer.id
}

type Used = Awaited<ReturnType<typeof used>>

async function otherKey(name: string): Promise<Buffer> {
  const other = temporaryFolder()
  await profileSigner(other)
  return readFileSync(join(other, 'alp', 'secrets', name))
}

/** Everything about who the profile is, byte for byte. */
function identityFiles({ profile, list }: Used): unknown {
  const folder = join(profile, 'alp', 'secrets')
  const files = [...readdirSync(folder).map(name => join(folder, name)), list].filter(existsSync)
  return files.map(file => [file, statSync(file).isFile() && readFileSync(file, 'utf8'), statSync(file).mtimeMs])
}

/** What may become of a file. */
const FATES = {
  gone: () => {},
  empty: file => writeFileSync(file, ''),
  garbage: file => writeFileSync(file, 'garbage'),
  cut: (file, was) => writeFileSync(file, was.subarray(0, 60)),
  folder: file => mkdirSync(file),
  pipe: file => void execFileSync('mkfifo', [file]),
  other: async file => writeFileSync(file, await otherKey(basename(file))),
} satisfies Record<string, (file: string, was: Buffer) => void | Promise<void>>

type Damage = Partial<Record<'key' | 'pub' | 'list', keyof typeof FATES>>

describe.each<[string, string, Damage]>([
  ['is empty', 'key_unusable', { key: 'empty' }],
  ['is no key', 'key_unusable', { key: 'garbage' }],
  ['is a folder', 'key_unusable', { key: 'folder' }],
  ['is a pipe', 'key_unusable', { key: 'pipe' }],
  ['has a pipe as its public file', 'key_unusable', { pub: 'pipe' }],
  ['is cut off', 'key_unusable', { key: 'cut' }],
  ['is gone', 'key_missing', { key: 'gone' }],
  ['is gone, and only the list knows of it', 'key_missing', { key: 'gone', pub: 'gone' }],
  ['is gone, and only the public file knows of it', 'key_missing', { key: 'gone', list: 'gone' }],
  ['is another one', 'key_mismatch', { key: 'other' }],
  ['is another one, and the public file is gone', 'key_mismatch', { key: 'other', pub: 'gone' }],
  ['is another one, and the list is gone', 'key_mismatch', { key: 'other', list: 'gone' }],
  ['has a public file of another one', 'key_mismatch', { pub: 'other' }],
  ['has a public file that nobody can confirm', 'key_mismatch', { pub: 'garbage', list: 'gone' }],
])('a key that %s', (_what, code, damage) => {
  test('is refused, with what to do, and no file is touched', async () => {
    const profile = await used()
    for (const [name, fate] of Object.entries(damage)) {
      const file = profile[name as keyof Damage]
      const was = readFileSync(file)
      rmSync(file)
      await FATES[fate](file, was)
    }
    const before = identityFiles(profile)
    const restored = { code, message: expect.stringMatching(/backup.*another profile|from a backup/s) }
    await expect(opened(profile.profile)).rejects.toMatchObject(restored)
    await expect(profileSigner(profile.profile)).rejects.toMatchObject(restored)
    expect(keyProblem(profile.profile)).toMatchObject(restored)
    expect(identityFiles(profile)).toEqual(before)
  })
})

test('a trail whose key is gone is not opened, and can be opened again once it is back', async () => {
  const t = await temporaryTrail({ signs: true })
  await t.trail.close()
  const key = join(t.profile, 'alp', 'secrets', 'alp_key.pem')
  const pem = readFileSync(key)
  rmSync(key)
  await expect(openTrail(t.profile)).rejects.toMatchObject({ code: 'key_missing' })
  expect(existsSync(key)).toBe(false)
  writeFileSync(key, pem, { mode: 0o600 })
  await (await openTrail(t.profile)).close()
})

describe('what is no damage', () => {
  test('a profile without any key gets one, and has no problem before and after', async () => {
    const profile = temporaryFolder()
    expect(keyProblem(profile)).toBeUndefined()
    expect(existsSync(join(profile, 'alp'))).toBe(false)
    const { id } = await profileSigner(profile)
    expect(keyProblem(profile)).toBeUndefined()
    expect((await profileSigner(profile)).id).toBe(id)
  })

  test('a key that somebody brings into a new profile is taken', async () => {
    const profile = temporaryFolder()
    mkdirSync(join(profile, 'alp', 'secrets'), { recursive: true, mode: 0o700 })
    for (const name of ['alp_key.pem', 'alp_key.pub'] as const)
      writeFileSync(join(profile, 'alp', 'secrets', name), await otherKey(name), { mode: 0o600 })
    // Two keys of two profiles: they do not fit each other.
    await expect(profileSigner(profile)).rejects.toMatchObject({ code: 'key_mismatch' })
    rmSync(join(profile, 'alp', 'secrets', 'alp_key.pub'))
    await profileSigner(profile)
    expect(keyProblem(profile)).toBeUndefined()
  })

  test.each(['gone', 'garbage'])(
    'a public file that is %s is derived again where the list confirms the key',
    async how => {
      const profile = await used()
      const text = readFileSync(profile.pub, 'utf8')
      if (how === 'gone') rmSync(profile.pub)
      else writeFileSync(profile.pub, how)
      expect(keyProblem(profile.profile)).toBeUndefined()
      await opened(profile.profile)
      expect(readFileSync(profile.pub, 'utf8')).toBe(text)
    },
  )

  test('what a rotation left beside the key and cannot be read is no reason to refuse, unless the list means it', async () => {
    const profile = await used()
    writeFileSync(profile.next, 'garbage')
    expect(keyProblem(profile.profile)).toBeUndefined()
    await opened(profile.profile)
    expect(existsSync(profile.next)).toBe(false)

    const list = JSON.parse(readFileSync(profile.list, 'utf8')) as { keys: object[] }
    const { id } = await profileSigner(temporaryFolder())
    writeFileSync(
      profile.list,
      JSON.stringify({ ...list, keys: [...list.keys, { key: id, since: null, until: null }] }),
    )
    writeFileSync(profile.next, 'garbage')
    await expect(opened(profile.profile)).rejects.toMatchObject({ code: 'key_mismatch' })
    expect(readFileSync(profile.next, 'utf8')).toBe('garbage')
  })

  test('files that cannot be looked at are told', async () => {
    const profile = await used()
    if (process.getuid?.() === 0) writeFileSync(profile.list, '{')
    else chmodSync(profile.list, 0o000)
    expect(keyProblem(profile.profile)).toBeDefined()
  })
})
