// One key for a profile, in one place: what the trail makes and replaces is what ALP reads (ALP-ID-01 to -03, -05). The
// two packages do not know each other, so this is tested beside them.
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { formatTimestamp, SystemClock, unwrap } from '@parley/core'
import { linkPaths, loadIdentity } from '@parley/link'
import { openTrail } from '@parley/trail'
import { expect, onTestFinished, test } from 'vitest'

function temporaryHome(): string {
  const home = mkdtempSync(join(tmpdir(), 'link-identity-'))
  onTestFinished(() => rmSync(home, { recursive: true, force: true }))
  return home
}

/** Opens the trail of a profile, which makes its key, and says who signs. */
async function opened(home: string): Promise<string> {
  const trail = await openTrail(home)
  const { key } = trail.keys.at(-1)!
  await trail.close()
  return key
}

const mode = (path: string) => statSync(path).mode & 0o777

test('ALP-ID-02 a new profile gets its two files, as PEM, with their modes, in a folder of its own', async () => {
  const home = temporaryHome()
  await opened(home)
  const { privateKey, publicKey } = linkPaths(home)
  expect(readFileSync(privateKey, 'utf8')).toMatch(
    /^-----BEGIN PRIVATE KEY-----\n[A-Za-z0-9+/]{64}\n-----END PRIVATE KEY-----\n$/,
  )
  expect(readFileSync(publicKey, 'utf8')).toMatch(
    /^-----BEGIN PUBLIC KEY-----\n[A-Za-z0-9+/]{59}=\n-----END PUBLIC KEY-----\n$/,
  )
  expect(mode(privateKey)).toBe(0o600)
  expect(mode(publicKey)).toBe(0o644)
  expect(mode(join(home, 'alp', 'secrets'))).toBe(0o700)
  expect(readdirSync(join(home, 'alp', 'secrets')).toSorted()).toEqual(['alp_key.pem', 'alp_key.pub'])
})

test('ALP-ID-01 whoever signs the trail is whoever speaks ALP', async () => {
  const home = temporaryHome()
  const signer = await opened(home)
  expect(loadIdentity(home).id).toBe(signer)
})

test('ALP-ID-03 a lost public file costs nothing, whoever comes first', async () => {
  const home = temporaryHome()
  const id = await opened(home)
  const { publicKey } = linkPaths(home)
  const pem = readFileSync(publicKey, 'utf8')
  rmSync(publicKey)
  expect(loadIdentity(home).id).toBe(id)
  expect(readFileSync(publicKey, 'utf8')).toBe(pem)
  rmSync(publicKey)
  expect(await opened(home)).toBe(id)
  expect(readFileSync(publicKey, 'utf8')).toBe(pem)
})

test('ALP-ID-05 the identity changes by rotation, and only then', async () => {
  const home = temporaryHome()
  const id = await opened(home)
  expect(await opened(home)).toBe(id)
  const trail = await openTrail(home)
  const rotated = unwrap(await trail.rotateKey(formatTimestamp(new SystemClock().now())))
  expect(loadIdentity(home).id).toBe(rotated.key)
  expect(rotated.key).not.toBe(id)
  await trail.close()
})
