// A profile's folder is its owner's alone, from the first moment and in every file.
import { execFile } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { unwrap } from '@parley/core'
import { KEY_MARK } from '@parley/trail'
import { describe, expect, test } from 'vitest'
import { ground } from '../testing/ground.ts'
import { chosenPaths, parleyHome, prepareProfile, profilePaths, socketPath } from './paths.ts'

const mode = (path: string) => statSync(path).mode & 0o777

const refusedWith = (code: string, words: string) => ({
  ok: false,
  error: { code, message: expect.stringContaining(words) },
})

function prepared(name = 'default') {
  const place = ground()
  const paths = unwrap(profilePaths(name, place.path()))
  return { paths, secret: unwrap(prepareProfile(paths)).secret, place }
}

describe('where things are', () => {
  test('PARLEY_HOME moves all profiles', () => {
    expect(parleyHome({}, '/users/a')).toBe('/users/a/.parley')
    expect(parleyHome({ PARLEY_HOME: '' }, '/users/a')).toBe('/users/a/.parley')
    expect(parleyHome({ PARLEY_HOME: '/data/p' }, '/users/a')).toBe('/data/p')
  })

  test('a flag goes before the environment, and the environment before the default', () => {
    const chosen = (...[flag, env]: [string | undefined, object]) =>
      unwrap(chosenPaths(flag, { ...env }, '/users/a')).profile
    expect(chosen('x', { PARLEY_PROFILE: 'y' })).toBe('x')
    expect(chosen(undefined, { PARLEY_PROFILE: 'y' })).toBe('y')
    expect(chosen(undefined, {})).toBe('default')
  })

  test.each(['', '.', '..', '../x', 'a/b', '-x', 'a b', 'ä', 'x'.repeat(65)])('%j is no profile', name => {
    const refused = profilePaths(name, '/home')
    expect(refused).toMatchObject({ ok: false, error: { code: 'invalid_profile' } })
  })

  test('a path that is too long for a socket is replaced by a short one that stays the same', () => {
    const fits = `/${'x'.repeat(103 - '/call.sock'.length - 1)}`
    expect(socketPath(fits)).toBe(`${fits}/call.sock`)
    const long = `${fits}x`
    const short = socketPath(long, {})
    expect(Buffer.byteLength(short)).toBeLessThan(104)
    expect(short).toBe(socketPath(long, {}))
    expect(short).not.toBe(socketPath(`${long}y`, {}))
    expect(socketPath(long, {}, '/short')).toMatch(/^\/short\/parley-\w+\/[0-9a-f]{24}\.sock$/)
    expect(socketPath(long, {}, `/${'t'.repeat(90)}`)).toMatch(/^\/tmp\/parley-\w+\//)
  })

  test('a runtime folder goes before the temporary one, if it is this user’s alone', () => {
    const { home } = ground()
    const long = `/${'x'.repeat(120)}`
    const runtime = join(home, 'runtime')
    const at = (place: string) => socketPath(long, { XDG_RUNTIME_DIR: place }, '/short')
    expect(at(runtime)).toMatch(/^\/short\//)
    mkdirSync(runtime, { mode: 0o700 })
    expect(at(runtime)).toMatch(new RegExp(`^${runtime}/parley/[0-9a-f]{24}\\.sock$`))
    expect(socketPath('/short-one', { XDG_RUNTIME_DIR: runtime })).toBe('/short-one/call.sock')
    symlinkSync(runtime, join(home, 'link'))
    for (const unsound of ['', 'relative', join(home, 'link'), '/']) expect(at(unsound)).toMatch(/^\/short\//)
    chmodSync(runtime, 0o755)
    expect(at(runtime)).toMatch(/^\/short\//)
  })

  test('lengths are counted in bytes', () => {
    expect(socketPath(`/${'ä'.repeat(60)}`)).not.toContain('ä')
  })
})

describe('making a profile', () => {
  test('folders are for the owner only, and so is the secret', () => {
    const { paths, secret } = prepared()
    expect(mode(paths.folder)).toBe(0o700)
    expect(mode(paths.logs)).toBe(0o700)
    expect(mode(paths.secret)).toBe(0o600)
    expect(secret).toHaveLength(32)
    expect(new Set(secret).size).toBeGreaterThan(8)
  })

  test('repeating it changes nothing', () => {
    const { paths, secret } = prepared()
    expect(unwrap(prepareProfile(paths)).secret).toEqual(secret)
  })

  test('modes that are too wide are mended', () => {
    const { paths } = prepared()
    chmodSync(paths.folder, 0o755)
    chmodSync(paths.secret, 0o644)
    unwrap(prepareProfile(paths))
    expect(mode(paths.folder)).toBe(0o700)
    expect(mode(paths.secret)).toBe(0o600)
  })

  test('a socket’s folder that somebody else made is refused by its own code, and one with a wide mode is closed', () => {
    const { paths } = prepared()
    const strange = join(paths.home, 'strange')
    symlinkSync(paths.logs, strange)
    expect(prepareProfile({ ...paths, socket: join(strange, 'x.sock') })).toMatchObject({
      ok: false,
      error: { code: 'socket_untrusted', details: { path: strange } },
    })
    const wide = join(paths.home, 'wide')
    mkdirSync(wide)
    chmodSync(wide, 0o755)
    unwrap(prepareProfile({ ...paths, socket: join(wide, 'x.sock') }))
    expect(mode(wide)).toBe(0o700)
  })

  test('processes that make it at the same moment get the same secret', async () => {
    const place = ground()
    const script = `
      import { prepareProfile, profilePaths } from ${JSON.stringify(join(import.meta.dirname, 'paths.ts'))}
      const paths = profilePaths('default', ${JSON.stringify(place.path())})
      console.log(Buffer.from(prepareProfile(paths.value).value.secret).toString('hex'))`
    const run = () =>
      promisify(execFile)(process.execPath, [...process.execArgv, '--input-type=module', '--eval', script])
    const secrets = (await Promise.all([run(), run(), run()])).map(({ stdout }) => stdout.trim())
    expect(new Set(secrets).size).toBe(1)
    expect(secrets[0]).toMatch(/^[0-9a-f]{64}$/)
  })

  test('a secret of another length is refused, not replaced', () => {
    const { paths } = prepared()
    writeFileSync(paths.secret, 'short')
    expect(prepareProfile(paths)).toMatchObject(refusedWith('profile_unusable', 'Restore it from a backup'))
    expect(readFileSync(paths.secret, 'utf8')).toBe('short')
  })

  test('a secret that is gone is not replaced where content is sealed with it', () => {
    const { paths } = prepared()
    mkdirSync(join(paths.folder, 'trail'))
    writeFileSync(join(paths.folder, 'trail', KEY_MARK), 'some id\n')
    rmSync(paths.secret)
    expect(prepareProfile(paths)).toMatchObject(refusedWith('secret_missing', 'Restore it from a backup'))
    expect(existsSync(paths.secret)).toBe(false)
  })

  test('a secret may be a link to another device, and the mode there counts', () => {
    const { paths, secret } = prepared()
    const elsewhere = join(paths.home, 'key')
    writeFileSync(elsewhere, secret, { mode: 0o644 })
    rmSync(paths.secret)
    symlinkSync(elsewhere, paths.secret)
    expect(unwrap(prepareProfile(paths)).secret).toEqual(secret)
    expect(mode(elsewhere)).toBe(0o600)
  })

  test('a file in the way is named', () => {
    const place = ground()
    const file = place.write('default', 'a file')
    const refused = prepareProfile(unwrap(profilePaths('default', place.path())))
    expect(refused).toMatchObject(refusedWith('profile_unusable', file))
  })

  test('a link in place of the folder is not followed', () => {
    const place = ground()
    mkdirSync(place.path(), { recursive: true })
    mkdirSync(join(place.home, 'elsewhere'))
    symlinkSync(join(place.home, 'elsewhere'), place.path('default'))
    const refused = prepareProfile(unwrap(profilePaths('default', place.path())))
    expect(refused).toMatchObject({ ok: false, error: { code: 'profile_unusable' } })
  })

  test.runIf(process.getuid?.() === 0)("another user's folder is not used", () => {
    const { paths } = prepared()
    chownSync(paths.folder, 65_534, 65_534)
    expect(prepareProfile(paths)).toMatchObject(refusedWith('profile_unusable', 'belongs to another user'))
  })
})
