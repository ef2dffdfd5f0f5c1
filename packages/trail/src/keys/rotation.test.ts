// Keys and their rotation (W-TRAIL-15): former keys stay good for what they signed and for nothing more, whoever knows
// one key can follow to the others, and a crash between any two steps leaves one key in use.
import { createPrivateKey } from 'node:crypto'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { formatTimestamp, type Ticks, type Timestamp, unwrap } from '@parley/core'
import { describe, expect, test } from 'vitest'
import type { StoredEntry } from '../entry.ts'
import { KeyFile } from '../key-file.ts'
import type { Files } from '../log/files.ts'
import { ed25519Signer } from '../signing.ts'
import { FaultyFiles } from '../testing/memory/faulty-files.ts'
import { PowerCut } from '../testing/power-cut.ts'
import { seededRandom } from '../testing/random.ts'
import { replaced, tamper } from '../testing/tamper.ts'
import { type TestTrail, temporaryTrail } from '../testing/temporary.ts'
import { RunVerifier } from '../verify/verify.ts'
import { KeyRing } from './key-ring.ts'
import { ProfileKeys } from './profile-keys.ts'
import { endorse, endorsementValid, followKeys, type TrailKey, trustOf } from './trail-key.ts'

const stampOf = (second: number) => formatTimestamp((1_772_355_900_000_000 + second * 1_000_000) as Ticks)

const signers = [1, 2, 3, 4].map(seed => ed25519Signer(Buffer.alloc(32, seed)))

/** A chain of keys, each endorsed by the one before it. */
function chain(count: number): TrailKey[] {
  return signers.slice(0, count).map(({ id }, index) => ({
    key: id,
    since: stampOf(index),
    until: index === count - 1 ? null : stampOf(index + 1),
    ...(index > 0 && { endorsement: endorse(signers[index - 1]!, signers[index]!, stampOf(index), stampOf(index)) }),
  }))
}

describe('who may have signed', () => {
  test('whoever knows any one key of a chain can follow it in both directions', () => {
    const keys = chain(4)
    for (const { key } of keys) expect(followKeys([key], keys).trusted).toEqual(new Set(keys.map(each => each.key)))
    expect([...trustOf(keys).retired]).toEqual(keys.slice(0, 3).map(({ key, until }) => [key, until]))
  })

  test('a stranger cannot put a key of their own behind or before the keys of somebody else', () => {
    const stranger = ed25519Signer(Buffer.alloc(32, 99))
    const [first, second] = [signers[0]!, signers[1]!]
    const real = endorse(first, second, stampOf(1), stampOf(1))
    const stolen = { ...endorse(first, stranger, stampOf(1), stampOf(1)), signature: real.signature }
    expect(endorsementValid(stolen)).toBe(false)
    // The stranger vouches for the known key: that makes the stranger nobody's predecessor.
    const claimed = { ...endorse(stranger, first, stampOf(0), stampOf(0)), countersignature: '0'.repeat(128) }
    const shown: TrailKey[] = [
      { key: stranger.id, since: null, until: null },
      { key: first.id, since: null, until: null, endorsement: claimed },
      { key: stranger.id, since: null, until: null, endorsement: stolen },
    ]
    expect(followKeys([first.id], shown).trusted).toEqual(new Set([first.id]))
  })

  test('an endorsement holds for just the keys and times that it names', () => {
    const real = endorse(signers[0]!, signers[1]!, stampOf(1), stampOf(2))
    expect(endorsementValid(real)).toBe(true)
    for (const change of [{ at: stampOf(9) }, { until: stampOf(9) }, { to: signers[2]!.id }, { from: signers[2]!.id }])
      expect(endorsementValid({ ...real, ...change })).toBe(false)
  })
})

async function rotated(t: TestTrail): Promise<TrailKey> {
  return unwrap(await t.trail.rotateKey(formatTimestamp(t.strict.take())))
}

describe('a trail that rotates', () => {
  test('goes on with the new key at once, and everything verifies, also after a restart', async () => {
    const t = await temporaryTrail({ signs: true })
    const script = await t.start()
    const old = t.trail.keys[0]!
    const current = await rotated(t)
    await script.workspace()
    expect(t.trail.keys).toMatchObject([
      { key: old.key, until: expect.any(String) },
      { key: current.key, until: null, endorsement: { from: old.key, to: current.key } },
    ])
    const { entries } = unwrap(await script.run.query({}))
    expect(entries.map(({ integrity }) => integrity.signer)).toEqual([old.key, current.key])
    expect((await script.run.verify()).findings).toEqual([])
    const again = await t.reopen()
    expect(again.trail.keys).toEqual(t.trail.keys)
    expect((await again.trail.verifyAll()).runs.flatMap(run => run.findings)).toEqual([])
    expect(again.trail.unrecordedKeys.map(({ key }) => key)).toEqual([current.key])
    await again.trail.recordedKey(current.key)
    expect((await again.reopen()).trail.unrecordedKeys).toEqual([])
  })

  test('loses nothing that is being appended, and signs all of it with one key or the other', async () => {
    const t = await temporaryTrail({ signs: true })
    const scripts = await Promise.all(Array.from({ length: 8 }, () => t.start()))
    const before = scripts.flatMap(script => Array.from({ length: 20 }, () => script.workspace()))
    const rotations = [rotated(t), rotated(t)]
    const after = scripts.flatMap(script => Array.from({ length: 20 }, () => script.workspace()))
    await Promise.all([...before, ...rotations, ...after])
    const report = await t.trail.verifyAll()
    expect(report.runs.flatMap(run => run.findings)).toEqual([])
    expect(report.runs.reduce((sum, run) => sum + run.entries, 0)).toBe(8 * 41)
    expect(t.trail.keys).toHaveLength(3)
  })

  test('the files of the key are for their owner alone, and the old private key is gone', async () => {
    const t = await temporaryTrail({ signs: true })
    const secrets = join(t.profile, 'alp', 'secrets')
    const files = ['alp_key.pem', 'alp_key.pub'].map(name => join(secrets, name))
    const before = files.map(file => readFileSync(file, 'utf8'))
    await rotated(t)
    expect(readdirSync(secrets)).toHaveLength(2)
    for (const [index, file] of files.entries()) expect(readFileSync(file, 'utf8')).not.toBe(before[index])
    const modes = [...files, secrets, join(t.profile, 'trail', 'keys.json')].map(path => statSync(path).mode & 0o777)
    expect(modes).toEqual([0o600, 0o644, 0o700, 0o600])
  })

  test('a trail that nobody signs has no key to replace', async () => {
    const t = await temporaryTrail()
    expect(await t.trail.rotateKey(stampOf(0))).toMatchObject({ ok: false, error: { code: 'not_signed' } })
  })

  test('an entry that a former key signs after its end is a finding', async () => {
    const t = await temporaryTrail({ signs: true })
    // The key that whoever forges has got hold of.
    const pem = readFileSync(join(t.profile, 'alp', 'secrets', 'alp_key.pem'), 'utf8')
    const script = await t.start()
    await rotated(t)
    for (let count = 0; count < 3; count++) await script.workspace()
    await t.trail.close()
    const stolen = ed25519Signer(Buffer.from(createPrivateKey(pem).export({ format: 'jwk' }).d!, 'base64url'))
    tamper(
      t.profile,
      replaced(3, entry => signedBy(entry, stolen)),
    )
    const again = await temporaryTrail({ profile: t.profile, signs: true })
    const { findings } = await again.trail.run(script.run.id).verify()
    expect(findings).toMatchObject([{ seq: 3, damage: 'signature', violation: 'signature_invalid' }])
    expect(findings[0]!.message).toContain('replaced before')
  })

  test('a former key does not sign behind a later one, whatever the time says', async () => {
    const t = await temporaryTrail({ signs: true })
    const script = await t.start()
    await script.workspace()
    await script.workspace()
    const [one, two] = [signers[0]!, signers[1]!]
    const far = '2099-01-01T00:00:00.000000Z' as Timestamp
    const options = { trusted: new Set([one.id, two.id]), retired: new Map([[one.id, far]]) }
    const verifier = new RunVerifier(script.run.id, options)
    let index = 0
    await t.trail.close()
    tamper(t.profile, records => {
      for (const record of records)
        if (record.kind === 'entry') verifier.entry(signedBy(record, [one, two, one][index++]!))
      return records
    })
    expect(verifier.finish().findings).toMatchObject([{ seq: 3, damage: 'signature' }])
  })
})

function signedBy(record: StoredEntry, signer: { id: string; sign(hash: string): string }): StoredEntry {
  return { ...record, signer: signer.id, signature: signer.sign(record.hash) }
}

describe('keys on disk', () => {
  test('a list as it was written before still opens, and is trusted as before', async () => {
    const t = await temporaryTrail({ signs: true })
    const script = await t.start()
    const { key } = t.trail.keys[0]!
    await t.trail.close()
    const file = join(t.profile, 'trail', 'keys.json')
    const former = signers[3]!.id
    writeFileSync(file, JSON.stringify([former, key]))
    const again = await t.reopen()
    expect(again.trail.keys.map(each => each.key)).toEqual([former, key])
    expect((await again.trail.run(script.run.id).verify()).findings).toEqual([])
    await rotated(again)
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ version: 2, keys: [{ key: former }, { key }, {}] })
  })

  test.each(['', '{', '[1]', '{"version":3}', '["short"]'])('a list that cannot be read is refused: %s', async text => {
    const t = await temporaryTrail({ signs: true })
    await t.trail.close()
    writeFileSync(join(t.profile, 'trail', 'keys.json'), text)
    await expect(t.reopen()).rejects.toMatchObject({ code: 'keys_unreadable' })
  })

  test('a former key that comes back is refused, with what to do', async () => {
    const t = await temporaryTrail({ signs: true })
    const file = join(t.profile, 'alp', 'secrets', 'alp_key.pem')
    const old = readFileSync(file)
    await rotated(t)
    await t.trail.close()
    writeFileSync(file, old)
    await expect(t.reopen()).rejects.toMatchObject({
      code: 'key_retired',
      message: expect.stringContaining('from a backup'),
    })
  })
})

const newDisks = () => ({ secrets: new FaultyFiles(), trail: new FaultyFiles() })

/** As on a disk: written aside and renamed. Its name, or its content, may be lost with the power. */
function publish(files: Files, pem: string): void {
  const aside = 'alp_key.pub.tmp'
  if (files.exists(aside)) files.remove(aside)
  const file = files.open(aside, 'create')
  file.write(Buffer.from(pem), 0)
  const close = () => file.close()
  void file.sync().then(close, close)
  files.rename(aside, 'alp_key.pub')
}

function openKeys(files: { secrets: Files; trail: Files }, until = stampOf(0)) {
  const file = new KeyFile(files.secrets, 'secrets', pem => publish(files.secrets, pem))
  return ProfileKeys.open(file, new KeyRing(files.trail), stampOf(0), until)
}

test('a crash between any two steps of a rotation leaves one key in use, old or new, and nothing half-done', async () => {
  const random = seededRandom(3)
  const seen = new Set<string>()
  for (let after = 0; after < 30; after++) {
    for (let round = 0; round < 6; round++) {
      const disks = newDisks()
      const { keys, signer: old } = await openKeys(disks)
      expect(keys.keys).toHaveLength(1)
      // Both folders are of one machine, which dies at the nth thing that it does to its disks.
      const cut = new PowerCut(after)
      const dying = { secrets: cut.on(disks.secrets), trail: cut.on(disks.trail) }
      const opened = await openKeys(dying).catch(() => undefined)
      const next = await opened?.keys.rotate(opened.signer, stampOf(1), stampOf(1)).catch(() => undefined)
      const survived = { secrets: disks.secrets.crash(random), trail: disks.trail.crash(random) }
      const found = await openKeys(survived, stampOf(2))
      const { keys: listed } = found.keys
      // The key on disk is the last of the list, and the list has at most one more than before.
      expect(listed.at(-1)!.key).toBe(found.signer.id)
      expect(listed[0]!.key).toBe(old.id)
      expect(listed.length).toBeLessThanOrEqual(2)
      // Whoever was told of the new key may have signed with it.
      if (next) expect(found.signer.id).toBe(next.id)
      if (listed.length === 2) expect(endorsementValid(listed[1]!.endorsement!)).toBe(true)
      expect(survived.secrets.list('').filter(name => name.includes('next.pem') && !name.endsWith('.tmp'))).toEqual([])
      seen.add(listed.length === 2 ? 'new' : 'old')
      // It goes on from there.
      const again = await found.keys.rotate(found.signer, stampOf(3), stampOf(3))
      expect((await openKeys(survived)).signer.id).toBe(again.id)
    }
  }
  expect(seen).toEqual(new Set(['old', 'new']))
})

test('a list that may or may not have been written ends all signing until it was read again', async () => {
  const disks = newDisks()
  const { keys, signer } = await openKeys(disks)
  disks.trail.fail('folder', { times: 2 })
  await expect(keys.rotate(signer, stampOf(1), stampOf(1))).rejects.toMatchObject({ code: 'keys_uncertain' })
  disks.trail.mend()
  const again = await openKeys(disks)
  expect(again.keys.keys.at(-1)!.key).toBe(again.signer.id)
})

test('a full disk leaves the old key in use, and signing goes on: a list that was never put in place is certain', async () => {
  const disks = newDisks()
  const { keys, signer } = await openKeys(disks)
  // The list is written anew after a failure that may have reached the disk; this one cannot be.
  disks.trail.fail('open', { times: 2 })
  await expect(keys.rotate(signer, stampOf(1), stampOf(1))).rejects.not.toMatchObject({ code: 'keys_uncertain' })
  disks.trail.mend()
  expect(keys.keys.at(-1)!.key).toBe(signer.id)
  const next = await keys.rotate(signer, stampOf(2), stampOf(2))
  expect((await openKeys(disks)).signer.id).toBe(next.id)
})
