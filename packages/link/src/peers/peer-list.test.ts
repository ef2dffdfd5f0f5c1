// The peer list as people write it, and how it is read (ALP-PEER-01 to -04, -06), on real files; invitations and
// principals of peers.
import { readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { type Disk, machineDisk } from '@parley/keys/files'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { fingerprintsOf } from '../identity/identity.ts'
import { linkLimits } from '../limits.ts'
import { alice, bob, carol, listed } from '../testing/peer-lists.ts'
import { identityOf, rateLimitCaps, vectors } from '../testing/vectors.ts'
import { readInvitation, writeInvitation } from './invitation.ts'
import { isAllowed, readPeer } from './peer.ts'
import { readEntries } from './peers-yaml.ts'
import { isPeer, peerPrincipal } from './principal.ts'

test('ALP-PEER-01 a file that is missing, no YAML, no list or no UTF-8 is an empty list', () => {
  expect(listed().list.all()).toEqual([])
  for (const text of ['', '# nothing yet\n', 'null', 'id: x\n', '"text"', '[', '- a: [', '- a\n---\n- b\n'])
    expect(listed(text).list.all(), text).toEqual([])
  const { list, path } = listed()
  writeFileSync(path, Buffer.from([0x2d, 0x20, 0xff]))
  expect(list.all()).toEqual([])
  expect(list.problems()).toEqual(['The file is not a YAML list: nobody is pinned.'])
})

test('ALP-PEER-01 entries that are no mapping or lack id or pubkey are skipped, and the others count', () => {
  const { list } = listed(`- text\n- [1]\n- id: x\n- pubkey: y\n- id: null\n  pubkey: z\n- id: a\n  pubkey: ${alice}\n`)
  expect(list.all().map(({ id }) => id)).toEqual(['a'])
  expect(list.problems()).toHaveLength(5)
})

test('ALP-PEER-01 a list that cannot be read pins nobody, and the log hears of it once', () => {
  const { list, path, failed } = listed()
  writeFileSync(path, `- id: a\n  pubkey: ${alice}\n${'#'.repeat(linkLimits.peersFileBytes)}`)
  for (let times = 0; times < 3; times++) expect(list.identities().size).toBe(0)
  expect(failed).toHaveLength(1)
})

test('ALP-PEER-02 every field is read, and what is left out has its default', () => {
  const { list } = listed(`
- id: personal
  alias: laptop-personal
  pubkey: ${alice}
  address: null
  allow: [link.ping, "link.ask", 5]
  rate_limit:
    per_minute: 10
- id: "home-server"
  pubkey: >-
    ${bob}
  address: home-server.internal:7423
  budget: {usd: 5}
- id: 42
  pubkey: '${carol}'
  allow: link.ask
`)
  expect(list.all()).toEqual([
    { id: 'personal', alias: 'laptop-personal', pubkey: alice, allow: ['link.ping', 'link.ask'], perMinute: 10 },
    { id: 'home-server', pubkey: bob, address: 'home-server.internal:7423', allow: [], perMinute: 60 },
    { id: '42', pubkey: carol, allow: [], perMinute: 60 },
  ])
  expect(list.named('home-server')?.pubkey).toBe(bob)
  expect(list.problems()).toEqual([])
})

test('ALP-PEER-02 what the reference writes is read', () => {
  expect(listed(vectors.yaml_as_the_reference_writes_it.peers).list.all()).toEqual([
    {
      id: 'home-server',
      pubkey: bob,
      alias: 'nas',
      address: 'home-server.internal:7423',
      allow: ['link.ping', 'link.ask'],
      perMinute: 30,
    },
  ])
})

test('ALP-PEER-02 of an id that stands there twice only the first entry counts, whatever key the other one has', async () => {
  const { list, path } = listed(
    `- {id: a, pubkey: "${alice}", allow: [link.ping]}\n- {id: a, pubkey: "${bob}", allow: [link.ask]}\n- {id: c, pubkey: "${carol}"}\n`,
  )
  expect([...list.identities()]).toEqual([alice, carol])
  expect(list.admitted(bob)).toBeUndefined()
  expect(list.all().map(({ pubkey }) => pubkey)).toEqual([alice, carol])
  expect(list.problems()).toEqual(['Entry 2 (a) has the id of another one and counts for nothing.'])
  expect(await list.allow('a', ['link.cancel'])).toMatchObject({ ok: true, value: { pubkey: alice } })
  // Whoever is removed by its id is not followed by another with the same id.
  expect(await list.remove('a')).toMatchObject({ ok: true, value: { pubkey: alice } })
  expect([...list.identities()]).toEqual([carol])
  expect(readFileSync(path, 'utf8')).not.toContain(bob)
})

test('ALP-PEER-02 handles and keys that stand there twice are told, and of a key the first entry counts', () => {
  const { list } = listed(
    `- {id: a, pubkey: "${alice}", allow: [link.ping]}\n- {id: a, pubkey: "${bob}"}\n- {id: c, pubkey: "${alice}", allow: [link.ask]}\n- {id: d, pubkey: " ${carol}"}\n`,
  )
  expect(list.problems().map(text => text.split(' ').slice(0, 3).join(' '))).toEqual([
    'Entry 2 (a)',
    'Entry 3 (c)',
    'Entry 4 (d)',
  ])
  list.identities()
  expect(list.admitted(alice)?.allow).toEqual(['link.ping'])
})

test('ALP-RATE-01 per_minute counts when it is an integer above zero, as the vectors have it', () => {
  const read = (rate: string) => readPeer(readEntries(Buffer.from(`- {id: a, pubkey: b, rate_limit: ${rate}}`))![0])
  for (const { rateLimit, cap } of rateLimitCaps()) expect(read(rateLimit), rateLimit).toMatchObject({ perMinute: cap })
  expect(rateLimitCaps().map(({ rateLimit }) => rateLimit)).toContain('{"per_minute":10.0}')
  for (const rate of ['10', '[10]', '{per_minute: true}', '{per_minute: null}', '{per_minute: .inf}'])
    expect(read(rate), rate).toMatchObject({ perMinute: 60 })
})

test('ALP-RATE-01 a rate limit that cannot be read, and an id that nothing can name, are told; the entry counts', () => {
  const of = (more: string) => {
    const { list } = listed(`- {id: a, pubkey: "${alice}", ${more}}\n`)
    return { list, problems: list.problems() }
  }
  for (const limit of ['0', '-5', '"5"', '5.0', 'true']) {
    const { list, problems } = of(`rate_limit: {per_minute: ${limit}}`)
    expect(problems, limit).toEqual([
      'Entry 1 (a) has a rate limit that is not a whole number above zero, so 60 calls a minute hold.',
    ])
    expect(list.all()).toMatchObject([{ perMinute: 60 }])
  }
  expect(of('rate_limit: 5').problems).toHaveLength(1)
  for (const fine of ['rate_limit: {per_minute: 5}', 'rate_limit: {}', 'rate_limit: null', 'alias: x'])
    expect(of(fine).problems, fine).toEqual([])
  const { list } = listed(`- {id: home.server, pubkey: "${alice}"}\n`)
  expect(list.problems()).toMatchObject([expect.stringMatching(/^Entry 1 \(home\.server\) has an id that no mention/)])
  expect(list.identities().has(alice)).toBe(true)
})

test('ALP-PEER-03 a peer may call just what its list names, and everything of workgroups', () => {
  const peer = { id: 'a', pubkey: alice, allow: ['link.ping'], perMinute: 60 }
  expect(isAllowed(peer, 'link.ping')).toBe(true)
  for (const method of ['link.ask', 'link', 'link.pin', 'link.ping ', 'LINK.PING', 'workgroup', ''])
    expect(isAllowed(peer, method), method).toBe(false)
  for (const method of ['workgroup.post', 'workgroup.', 'workgroup.nope'])
    expect(isAllowed({ ...peer, allow: [] }, method), method).toBe(true)
})

test('ALP-PEER-06 an edit applies at once: of the same length, in the same instant, and with a time that was set back', () => {
  const { list, path } = listed(`- id: a\n  pubkey: ${alice}\n`)
  for (let times = 0; times < 50; times++) {
    const [now, other] = times % 2 ? [alice, bob] : [bob, alice]
    writeFileSync(path, `- id: a\n  pubkey: ${now}\n`)
    expect(list.identities().has(now)).toBe(true)
    expect(list.identities().has(other)).toBe(false)
  }
  utimesSync(path, 1_000_000, 1_000_000)
  list.identities()
  writeFileSync(path, `- id: a\n  pubkey: ${carol}\n`)
  utimesSync(path, 1_000_000, 1_000_000)
  expect([...list.identities()]).toEqual([carol])
})

test('ALP-PEER-06 an edit is seen where the file system cannot tell it from the one before', () => {
  const coarse: Disk = { ...machineDisk, stat: () => ({ stamp: 'the same second', mode: 0o644, settled: false }) }
  const { list, path } = listed(`- id: a\n  pubkey: ${alice}\n`, coarse)
  expect([...list.identities()]).toEqual([alice])
  writeFileSync(path, `- id: a\n  pubkey: ${bob}\n`)
  expect([...list.identities()]).toEqual([bob])
})

test('ALP-PEER-06 a list that did not change is looked at and not read again', () => {
  let reads = 0
  const { list, path } = listed(`- id: a\n  pubkey: ${alice}\n`, {
    ...machineDisk,
    read(file, most) {
      reads++
      return machineDisk.read(file, most)
    },
  })
  utimesSync(path, 1_000_000, 1_000_000)
  for (let times = 0; times < 100; times++) list.identities()
  expect(reads).toBe(1)
})

test('ALP-PEER-07 an entry says nothing of money: a legacy budget has no effect', () => {
  const { list } = listed(`- id: a\n  pubkey: ${alice}\n  allow: [link.ask]\n  budget: {usd: 0, daily_usd: 0}\n`)
  expect(Object.keys(list.named('a')!).toSorted()).toEqual(['allow', 'id', 'perMinute', 'pubkey'])
})

test(`ALP-PEER-01 of more than ${linkLimits.peers} entries the first count`, async () => {
  const entry = (n: number) => `- id: p${n}\n  pubkey: ${Buffer.from(String(n).padStart(32)).toString('base64')}\n`
  const { list } = listed(Array.from({ length: linkLimits.peers + 5 }, (_, n) => entry(n)).join(''))
  expect(list.all()).toHaveLength(linkLimits.peers)
  expect(list.problems()).toHaveLength(5)
  const more = await list.add({ id: 'a', pubkey: alice, allow: [] })
  expect(more).toMatchObject({ error: { code: 'too_many_peers' } })
})

const pubkey = identityOf('alice').id

test('ALP-PEER-04 an invitation is one line that survives a shell, and says what its owner gave', () => {
  const line = writeInvitation({ pubkey, address: 'home-server.internal:7423', name: 'home-server' })
  expect(line).toBe('alp://A6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg@home-server.internal:7423#home-server')
  expect(readInvitation(` ${line}\n`)).toEqual({
    ok: true,
    value: { pubkey, address: 'home-server.internal:7423', name: 'home-server' },
  })
  expect(readInvitation(writeInvitation({ pubkey }))).toEqual({ ok: true, value: { pubkey } })
  expect(readInvitation(writeInvitation({ pubkey, address: '[::1]:7423' }))).toMatchObject({
    value: { address: '[::1]:7423' },
  })
})

test.each([
  '',
  pubkey,
  'alp://',
  'alp://short',
  `alp://${pubkey}`,
  'alp://A6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbh',
  'alp://A6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg@nowhere',
  'alp://A6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg@a:1 b:2',
  'alp://A6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg#a.b',
  'alp://A6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg#a\nalp://x',
  `alp://A6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg@${'a'.repeat(600)}:1`,
])('ALP-PEER-04 what is no invitation is refused with a reason: %s', line => {
  expect(readInvitation(line)).toMatchObject({ ok: false, error: { code: 'bad_invitation' } })
})

test('ALP-PEER-04 every key comes back as it was', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), bytes => {
      const key = Buffer.from(bytes).toString('base64')
      expect(readInvitation(writeInvitation({ pubkey: key }))).toEqual({ ok: true, value: { pubkey: key } })
    }),
  )
})

test('ALP-PEER-04 a pinned key is the user of its fingerprint, with no scope', () => {
  const pubkey = identityOf('bob').id
  const principal = peerPrincipal({ id: 'bob', pubkey })
  expect(principal).toEqual({ id: `alp:${fingerprintsOf(pubkey)?.fingerprint}`, kind: 'user', name: 'bob', scopes: [] })
  expect([principal.id, 'bob', 'alp'].map(isPeer)).toEqual([true, false, false])
})
