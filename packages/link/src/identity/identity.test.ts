// Who a profile is (ALP-ID), and which profile of this machine holds a key (ALP-UNIX-07).
import { execFileSync } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ParleyError } from '@parley/core'
import { fingerprint, fromBase64, publicKeyOfPem, publicPem } from '@parley/keys'
import { sodium } from '@parley/keys/sodium'
import { describe, expect, test } from 'vitest'
import { temporaryFolder, writeKeys } from '../testing/homes.ts'
import { hex, identityOf, identityVector, vectors } from '../testing/vectors.ts'
import { x25519Image } from './curve.ts'
import { linkPaths, loadIdentity, localIdentity } from './files.ts'
import { fingerprintsOf, ImageCache, identityFromPem, identityFromSeed, publicKeyOf } from './identity.ts'
import { alpiLayout, isProfileName, localSocket, parleyLayout } from './local.ts'

describe.each(vectors.identity)('the identity of $name', vector => {
  const identity = identityFromSeed(hex(vector.ed25519_seed_hex))

  test('ALP-ID-01 one seed gives the one key pair of a profile', () => {
    expect(identity.publicKey.toString('hex')).toBe(vector.ed25519_pub_hex)
    const message = Buffer.from('a message')
    expect(sodium.crypto_sign_verify_detached(identity.sign(message), message, identity.publicKey)).toBe(true)
  })

  test('ALP-ID-02 its files are PKCS#8 and SubjectPublicKeyInfo in PEM', () => {
    expect(identityFromPem(vector.private_pem, 'the file').id).toBe(vector.pubkey_b64)
    expect(publicPem(identity.publicKey)).toBe(vector.public_pem)
    expect(publicKeyOfPem(vector.public_pem)).toBe(vector.pubkey_b64)
  })

  test('ALP-ID-04 its string is the padded base64 of the public key', () => {
    expect(identity.id).toBe(vector.pubkey_b64)
    expect(identity.id).toMatch(/^.{43}=$/)
    expect(publicKeyOf(` ${identity.id}\n`)?.toString('hex')).toBe(vector.ed25519_pub_hex)
  })

  test('ALP-ID-07 its X25519 private key is the clamped first half of the hash of the seed', () => {
    expect(Buffer.from(identity.noise.secretKey).toString('hex')).toBe(vector.x25519_priv_hex)
  })

  test('ALP-ID-08 its X25519 public key is the image of the Ed25519 one, and that of the private one too', () => {
    expect(identity.noise.publicKey.toString('hex')).toBe(vector.x25519_pub_hex)
    const derived = Buffer.alloc(32)
    sodium.crypto_scalarmult_base(derived, identity.noise.secretKey)
    expect(derived.equals(identity.noise.publicKey)).toBe(true)
  })
})

test.each(vectors.identity_reject)('ALP-ID-08 $case', ({ ed25519_pub_hex, expect_x25519_pub_hex }) => {
  expect(x25519Image(hex(ed25519_pub_hex))?.toString('hex')).toBe(expect_x25519_pub_hex)
})

test('ALP-ID-08 no check is made whether a key is on the curve', () => {
  // y = 2 is not: libsodium would refuse it.
  const outside = Buffer.alloc(32)
  outside[0] = 2
  // u = 3 / -1.
  expect(x25519Image(outside)?.toString('hex')).toBe(`ea${'ff'.repeat(30)}7f`)
  expect(x25519Image(Buffer.alloc(31))).toBeUndefined()
})

test('ALP-ID-08 images are remembered, failures too', () => {
  let asked = 0
  const images = new ImageCache(identity => {
    asked++
    return publicKeyOf(identity)
  })
  const { pubkey_b64, x25519_pub_hex } = identityVector('alice')
  for (let times = 0; times < 3; times++) {
    expect(images.of(pubkey_b64)?.toString('hex')).toBe(x25519_pub_hex)
    expect(images.of('nobody')).toBeUndefined()
  }
  expect(asked).toBe(2)
})

describe('key files', () => {
  test('ALP-ID-02 a profile is read from alp/secrets, and only from there', () => {
    const home = writeKeys(temporaryFolder(), 'alice')
    expect(linkPaths(home).privateKey).toBe(join(home, 'alp', 'secrets', 'alp_key.pem'))
    expect(linkPaths(home).publicKey).toBe(join(home, 'alp', 'secrets', 'alp_key.pub'))
    expect(loadIdentity(home).id).toBe(identityVector('alice').pubkey_b64)
  })

  test('ALP-ID-03 only the private file counts: a public one of somebody else changes nothing', () => {
    const home = writeKeys(temporaryFolder(), 'alice')
    writeFileSync(linkPaths(home).publicKey, identityVector('bob').public_pem)
    expect(loadIdentity(home).id).toBe(identityVector('alice').pubkey_b64)
  })

  test('ALP-ID-03 a missing public file is made again from the private one, for all to read', () => {
    const home = writeKeys(temporaryFolder(), 'alice', ['private'])
    const mask = process.umask(0o077)
    const { id } = loadIdentity(home)
    process.umask(mask)
    expect(id).toBe(identityVector('alice').pubkey_b64)
    const { publicKey } = linkPaths(home)
    expect(readFileSync(publicKey, 'utf8')).toBe(identityVector('alice').public_pem)
    expect(statSync(publicKey).mode & 0o777).toBe(0o644)
  })

  test('ALP-ID-03 a PEM that is not Ed25519 is an error, and no new key takes its place', () => {
    const home = writeKeys(temporaryFolder(), 'alice')
    const { privateKey } = linkPaths(home)
    const other = generateKeyPairSync('x25519').privateKey.export({ type: 'pkcs8', format: 'pem' })
    for (const [pem, message] of [
      [other, 'is not an Ed25519 key'],
      ['rubbish', 'cannot be read as a private key'],
      [identityVector('alice').public_pem, 'cannot be read as a private key'],
      ['', 'cannot be read as a private key'],
    ] as const) {
      writeFileSync(privateKey, pem)
      expect(() => loadIdentity(home)).toThrow(message)
      expect(readFileSync(privateKey, 'utf8')).toBe(pem)
    }
  })

  test('ALP-ID-03 a key that is a folder or a pipe is refused, and nobody waits for it', () => {
    const home = writeKeys(temporaryFolder(), 'alice')
    const { privateKey } = linkPaths(home)
    for (const made of ['mkdir', 'mkfifo']) {
      rmSync(privateKey, { recursive: true })
      execFileSync(made, [privateKey])
      expect(() => loadIdentity(home)).toThrow(expect.objectContaining({ code: 'key_unusable' }) as ParleyError)
    }
  })

  test('ALP-ID-03 a profile without a key says so', () => {
    const home = temporaryFolder()
    expect(() => loadIdentity(home)).toThrow(expect.objectContaining({ code: 'key_missing' }) as ParleyError)
    expect(() => statSync(join(home, 'alp'))).toThrow()
  })

  test('ALP-ID-05 an identity changes only when its files are replaced', () => {
    const home = writeKeys(temporaryFolder(), 'alice')
    const before = loadIdentity(home).id
    expect(loadIdentity(home).id).toBe(before)
    writeKeys(home, 'carol')
    expect(loadIdentity(home).id).toBe(identityVector('carol').pubkey_b64)
  })

  test('a profile of this machine is known by its public file, if it has both', () => {
    const home = writeKeys(temporaryFolder(), 'bob')
    expect(localIdentity(home)).toBe(identityVector('bob').pubkey_b64)
    rmSync(linkPaths(home).privateKey)
    expect(localIdentity(home)).toBeUndefined()
    expect(localIdentity(join(home, 'missing'))).toBeUndefined()
  })
})

test('ALP-ID-04 another spelling of the same bytes is no identity', () => {
  const { pubkey_b64 } = identityVector('alice')
  const urlSafe = pubkey_b64.replaceAll('/', '_')
  expect(urlSafe).not.toBe(pubkey_b64)
  // The last character before the padding carries two bits that mean nothing.
  const loose = `${pubkey_b64.slice(0, 42)}h=`
  expect(Buffer.from(loose, 'base64').equals(Buffer.from(pubkey_b64, 'base64'))).toBe(true)
  const lengths = [pubkey_b64.slice(0, -1), `${pubkey_b64}=`, '', 'A'.repeat(1_000_000), `A${pubkey_b64}`]
  for (const text of [urlSafe, loose, ...lengths]) expect(publicKeyOf(text)).toBeUndefined()
  expect(fromBase64('AAAA', 3)).toEqual(Buffer.alloc(3))
})

describe('fingerprints', () => {
  test('ALP-ID-05 a fingerprint for programs is the one that principals have', () => {
    const { id, publicKey } = identityOf('alice')
    expect(fingerprintsOf(id)?.fingerprint).toBe(fingerprint(publicKey))
    expect(fingerprintsOf('nobody')?.fingerprint).toBeUndefined()
  })

  test('ALP-ID-05 a fingerprint to read aloud is eight groups of five digits, and another for every key', () => {
    const spoken = vectors.identity.map(({ pubkey_b64 }) => fingerprintsOf(pubkey_b64)?.spoken)
    for (const text of spoken) expect(text).toMatch(/^(?:[0-9]{5} ){7}[0-9]{5}$/)
    expect(new Set(spoken).size).toBe(vectors.identity.length)
    expect(fingerprintsOf(identityVector('alice').pubkey_b64)?.spoken).toBe(spoken[0])
    expect(fingerprintsOf('nobody')?.spoken).toBeUndefined()
  })
})

test('a seed of another length is a defect', () => {
  expect(() => identityFromSeed(Buffer.alloc(31))).toThrow('32 bytes')
})

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
