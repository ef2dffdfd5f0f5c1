// Sealed content: keys by scope (W-SEC-13), what is stored of it (W-SEC-16), damage; and HMAC against its published
// vectors.
import { createHmac, hkdfSync } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { limits, type ObjectId, type RunId, SeededIds, type Timestamp, unwrap, type WorkspaceId } from '@parley/core'
import { sodium } from '@parley/keys/sodium'
import { describe, expect, test } from 'vitest'
import type { StoredObject } from '../entry.ts'
import { openTrail } from '../open-trail.ts'
import { bytesInMemory } from '../testing/bytes.ts'
import { recordsOf } from '../testing/steps.ts'
import { temporaryFolder, temporaryTrail } from '../testing/temporary.ts'
import { ContentCipher, isSealed, openObject, SEALINGS, type Sealing } from './cipher.ts'
import { HmacKey } from './hmac.ts'
import { KEY_MARK } from './key-mark.ts'
import { type ContentKeyRing, ContentKeys } from './keys.ts'
import { type ContentScope, parseScope, scopeText } from './scope.ts'

const RUN = 'run_1' as RunId
const W1 = 'ws_1' as WorkspaceId
const W2 = 'ws_2' as WorkspaceId
const SECRET = new Uint8Array(32).fill(7)
const OTHER = new Uint8Array(32).fill(8)
const MARKER = 'marker-4711-nobody-else-says-this'

const cipherOf = (sealing: Sealing, secret = SECRET) => new ContentCipher(new ContentKeys(secret), sealing)
const stored = (id: string, data: string): StoredObject => ({
  kind: 'object',
  run: RUN,
  seq: 1,
  id: id as ObjectId,
  objectKind: 'memory',
  data,
})
const scopes: ContentScope[] = [
  { of: 'trail' },
  { of: 'run' },
  { of: 'workspace', workspace: W1 },
  { of: 'workspace', workspace: W2 },
  { of: 'private', workspace: W1 },
  { of: 'mail', from: W1, to: W2 },
  { of: 'mail', from: W2, to: W1 },
]

/** All bytes below a folder. */
function bytesBelow(folder: string): string {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(each => each.isFile())
    .map(each => readFileSync(join(each.parentPath, each.name), 'latin1'))
    .join('\n')
}

describe('keys', () => {
  test('W-SEC-13 every scope of every run has a key of its own, the same in every process', () => {
    const keys = new ContentKeys(SECRET)
    const all = scopes.map(scope => keys.of(RUN, scope).toString('hex'))
    const elsewhere = scopes.slice(1).map(scope => keys.of('run_2' as RunId, scope).toString('hex'))
    const more = [keys.ofState(RUN).toString('hex'), Buffer.from(SECRET).toString('hex')]
    expect(new Set([...all, ...elsewhere, ...more]).size).toBe(all.length + elsewhere.length + more.length)
    const again = new ContentKeys(SECRET)
    expect(scopes.map(scope => again.of(RUN, scope).toString('hex'))).toEqual(all)
    expect(keys.id).toBe(again.id)
    expect(new ContentKeys(OTHER).id).not.toBe(keys.id)
    expect(all.some(key => key.includes(keys.id))).toBe(false)
  })

  test('a secret that is too short makes no keys', () => {
    expect(() => new ContentKeys(new Uint8Array(31))).toThrow(/at least 32/)
  })

  test('a scope is found again in its text, whatever characters its ids have', () => {
    const odd: ContentScope = { of: 'mail', from: 'a/b:c%2F' as WorkspaceId, to: '/' as WorkspaceId }
    for (const scope of [...scopes, odd]) {
      expect(scopeText(scope)).not.toContain(':')
      expect(parseScope(scopeText(scope))).toEqual(scope)
    }
    for (const text of ['', 'x', 'mail/a', 'mail/a/b/c', 'workspace', 'run/x', 'private/%E0%A4%A', 'trail/'])
      expect(parseScope(text)).toBeUndefined()
  })
})

describe('objects', () => {
  test.each(scopes)('what was sealed for %j is opened again, and shows nothing', scope => {
    const cipher = cipherOf('workspace')
    const plain = stored('o1', JSON.stringify({ text: `${MARKER} äöü 🙂` }))
    const sealed = cipher.sealObject(plain, scope)
    expect(isSealed(sealed.data)).toBe(true)
    expect(isSealed(plain.data)).toBe(false)
    const body = sealed.data.slice(sealed.data.lastIndexOf(':') + 1)
    expect(Buffer.from(body, 'base64').includes(MARKER)).toBe(false)
    expect(openObject(sealed, cipher)).toEqual(plain)
    // The same content never looks the same.
    expect(cipher.sealObject(plain, scope).data).not.toBe(sealed.data)
  })

  test('content is XChaCha20-Poly1305 under a key that HKDF-SHA-256 derives from the secret, bound to run, id and kind', () => {
    const { data } = cipherOf('trail').sealObject(stored('o1', MARKER))
    const bytes = Buffer.from(data.slice(data.lastIndexOf(':') + 1), 'base64')
    const key = Buffer.from(hkdfSync('sha256', SECRET, '', 'parley content key trail', 32))
    const plain = Buffer.alloc(bytes.length - 24 - 16)
    const place = Buffer.from('run_1\no1\nmemory')
    const [nonce, box] = [bytes.subarray(0, 24), bytes.subarray(24)]
    sodium.crypto_aead_xchacha20poly1305_ietf_decrypt(plain, null, box, place, nonce, key)
    expect(plain.toString()).toBe(MARKER)
  })

  test('with one key for the trail, scopes make no difference', () => {
    const cipher = cipherOf('trail')
    const sealed = cipher.sealObject(stored('o1', '1'), { of: 'private', workspace: W1 })
    expect(sealed.data).toMatch(/^enc:1:[0-9a-f]{16}:trail:/)
  })

  test('what was written before sealing began is read as it is, and what was sealed is opened when it no longer is', () => {
    const plain = stored('o1', '{"a":1}')
    expect(openObject(plain, cipherOf('workspace'))).toBe(plain)
    const proven = cipherOf('none').sealObject(plain)
    expect(proven.data).toMatch(/^mac:1:[0-9a-f]{16}:[0-9a-f]{64}:\{"a":1\}$/)
    for (const cipher of [undefined, cipherOf('none')]) expect(openObject(proven, cipher)).toEqual(plain)
    const sealed = cipherOf('workspace').sealObject(plain)
    for (const sealing of SEALINGS) expect(openObject(sealed, cipherOf(sealing))).toEqual(plain)
  })

  test('a sealed text opens in no other place, and no changed bit goes unnoticed', () => {
    const cipher = cipherOf('workspace')
    const sealed = cipher.sealObject(stored('o1', '{"a":1}'), { of: 'workspace', workspace: W1 })
    const open = (change: Partial<StoredObject>) => () => openObject({ ...sealed, ...change }, cipher)
    const damaged = expect.objectContaining({ code: 'content_damaged' })
    expect(open({ id: 'o2' as ObjectId })).toThrow(damaged)
    expect(open({ objectKind: 'checkpoint' })).toThrow(damaged)
    expect(open({ run: 'run_2' as RunId })).toThrow(damaged)
    expect(open({ data: sealed.data.replace('workspace/ws_1', 'workspace/ws_2') })).toThrow(damaged)
    const start = sealed.data.lastIndexOf(':') + 1
    const bytes = Buffer.from(sealed.data.slice(start), 'base64')
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const changed = Buffer.from(bytes)
      changed[bit >> 3]! ^= 1 << (bit & 7)
      expect(open({ data: sealed.data.slice(0, start) + changed.toString('base64') })).toThrow(damaged)
    }
    for (let length = 'enc:1:'.length; length < sealed.data.length - 3; length++)
      expect(open({ data: sealed.data.slice(0, length) })).toThrow(/cannot be opened|not what was sealed/)
  })

  test('another secret, or none, is told from damage', () => {
    const sealed = cipherOf('workspace').sealObject(stored('o1', '{"a":1}'))
    for (const [reason, cipher] of [
      ['other_secret', cipherOf('workspace', OTHER)],
      ['no_secret', undefined],
    ] as const) {
      const details = expect.objectContaining({ reason })
      const missing = expect.objectContaining({ code: 'content_key_missing', details })
      expect(() => openObject(sealed, cipher)).toThrow(missing)
    }
  })
})

describe('a trail', () => {
  const small = { id: 'small' as ObjectId, kind: 'memory', value: { text: MARKER }, scope: scopes[2]! }
  const large = { text: MARKER.repeat(Math.ceil((limits.objectInlineBytes * 2) / MARKER.length)) }

  async function written(sealing: Sealing, profile = temporaryFolder(), seed = 1) {
    const ids = new SeededIds(seed)
    const { trail, start, reopen } = await temporaryTrail({ profile, ids, cipher: cipherOf(sealing) })
    const script = await start()
    const objects = [small, { ...small, id: 'large' as ObjectId, value: large }]
    unwrap(await script.run.append({ entries: [], objects }))
    return { profile, trail, run: script.run, reopen }
  }

  test.each(['trail', 'workspace'] as const)(
    'W-SEC-16 no byte below its folder shows content that is sealed by %s, in the log, in blobs, after a restart',
    async sealing => {
      const { profile, run, reopen } = await written(sealing)
      expect((await run.object('small' as ObjectId))?.value).toEqual({ text: MARKER })
      expect((await run.object('large' as ObjectId))?.value).toEqual(large)
      const { trail } = await reopen()
      expect(trail.sealing).toBe(sealing)
      const again = trail.run(run.id)
      expect((await again.object('small' as ObjectId))?.value).toEqual({ text: MARKER })
      expect((await recordsOf(again)).filter(record => !('event_type' in record))).toEqual([
        { id: 'small', kind: 'memory', value: { text: MARKER } },
        { id: 'large', kind: 'memory', value: large },
      ])
      await trail.close()
      expect(bytesBelow(profile)).not.toContain(MARKER)
      // The entries are there for everybody: they are what is verified.
      expect(bytesBelow(profile)).toContain('workspace_created')
    },
  )

  test('neither the secret nor a key that follows from it is in any file', async () => {
    const { profile, trail, run } = await written('workspace')
    await trail.close()
    const bytes = bytesBelow(profile)
    const keys = new ContentKeys(SECRET)
    for (const key of [Buffer.from(SECRET), keys.ofState(run.id), ...scopes.map(each => keys.of(run.id, each))])
      for (const form of ['latin1', 'hex', 'base64', 'base64url'] as const)
        expect(bytes.includes(key.toString(form))).toBe(false)
    expect(bytes).toContain(keys.id)
  })

  test('without sealing the same content is on the disk', async () => {
    const { profile, trail } = await written('none')
    await trail.close()
    expect(bytesBelow(profile)).toContain(MARKER)
    expect(readdirSync(join(profile, 'trail'))).toContain(KEY_MARK)
  })

  test('a trail that was written in plain, then sealed, then in plain again is read whole', async () => {
    const first = await written('none')
    await first.trail.close()
    const second = await written('workspace', first.profile, 2)
    await second.trail.close()
    const third = await written('none', first.profile, 3)
    for (const { run } of [first, second, third])
      expect((await third.trail.run(run.id).object('small' as ObjectId))?.value).toEqual({ text: MARKER })
    expect((await third.trail.verifyAll()).runs.flatMap(({ findings }) => findings)).toEqual([])
  })

  test('a ring opens what it has a key for, and nothing else', async () => {
    const { run } = await written('workspace')
    const holding = (...held: ContentScope[]): ContentKeyRing => ({
      key: async scope =>
        held.some(each => scopeText(each) === scopeText(scope)) ? run.content.key(scope) : undefined,
    })
    expect((await run.object('small' as ObjectId, holding(scopes[2]!)))?.value).toEqual({ text: MARKER })
    const denied = { code: 'content_key_missing', details: { reason: 'not_given' } }
    await expect(run.object('small' as ObjectId, holding())).rejects.toMatchObject(denied)
    await expect(run.object('large' as ObjectId, holding(scopes[3]!, scopes[4]!))).rejects.toMatchObject(denied)
  })

  test.each(['stored', 'opened'] as const)(
    'a run that was exported with its content %s and imported elsewhere is kept there as content of that place',
    async content => {
      const here = await temporaryTrail({ signs: true, cipher: cipherOf('workspace') })
      const script = await here.start()
      const entry = script.entry('checkpoint_rejected', script.root, 'protocol', { workspace: script.root })
      unwrap(await script.appendWith([small], entry))
      const at = '2026-03-02T10:00:00.000000Z' as Timestamp
      const file = await buffer(unwrap(await here.trail.export(script.run.id, { at, content })))
      const there = await temporaryTrail({ ids: new SeededIds(2), cipher: cipherOf('workspace', OTHER) })
      const keys = [here.trail.keys.at(-1)!.key]
      unwrap(await there.trail.import(bytesInMemory(file), { keys, at }))
      const read = there.trail.run(script.run.id).object('small' as ObjectId)
      if (content === 'opened') expect((await read)?.value).toEqual({ text: MARKER })
      else await expect(read).rejects.toMatchObject({ code: 'content_key_missing' })
      await there.trail.close()
      // Archives are compressed, so that looking for the marker would prove nothing: without a secret it cannot be
      // read.
      const bare = await openTrail(there.profile, { signer: null })
      const closed = bare.run(script.run.id).object('small' as ObjectId)
      await expect(closed)
        .rejects.toMatchObject({ details: { reason: 'no_secret' } })
        .finally(() => bare.close())
    },
  )

  test('another secret is refused before anything is read or written', async () => {
    const { profile, trail } = await written('workspace')
    await trail.close()
    const before = bytesBelow(profile)
    const opened = (cipher: ContentCipher) => openTrail(profile, { signer: null, cipher })
    const refused = { code: 'secret_mismatch', message: expect.stringContaining('Restore') }
    for (const sealing of SEALINGS) await expect(opened(cipherOf(sealing, OTHER))).rejects.toMatchObject(refused)
    expect(bytesBelow(profile)).toBe(before)
    // A mark that nobody can read is no reason to go on either.
    writeFileSync(join(profile, 'trail', KEY_MARK), '')
    await expect(opened(cipherOf('none'))).rejects.toMatchObject({ code: 'secret_mismatch' })
  })
})

test.each([
  ['0b'.repeat(20), 'Hi There', 'b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7'],
  ['4a656665', 'what do ya want for nothing?', '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843'],
])('RFC 4231, key %s', (key, text, answer) => {
  expect(new HmacKey(Buffer.from(key, 'hex')).sign(text)).toBe(answer)
})

test('any key and text come to the same as in node:crypto, also after a larger text', () => {
  const texts = ['', 'ä€😀', 'x'.repeat(5000), 'y', 'ä'.repeat(400_000), 'z']
  for (const length of [0, 1, 32, 63, 64]) {
    const key = Buffer.alloc(length, 0xa7)
    const mine = new HmacKey(key)
    for (const text of texts) expect(mine.sign(text)).toBe(createHmac('sha256', key).update(text).digest('hex'))
  }
  expect(() => new HmacKey(Buffer.alloc(65))).toThrow(RangeError)
})
