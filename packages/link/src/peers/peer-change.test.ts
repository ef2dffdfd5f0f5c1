// How the peer list is changed (ALP-PEER-05, -06): what is written, under which lock, and that no crash leaves half of
// it.
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { ManualClock, SystemClock } from '@parley/core'
import { machineDisk } from '@parley/keys/files'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { linkPaths } from '../identity/files.ts'
import { linkLimits } from '../limits.ts'
import { afterEachStep, Crash, CrashingDisk } from '../testing/crashing-disk.ts'
import { idle } from '../testing/ground.ts'
import { temporaryFolder } from '../testing/homes.ts'
import { alice, bob, carol, listed } from '../testing/peer-lists.ts'
import { PeerList } from './peer-list.ts'

test('ALP-PEER-05 an id or a key that is pinned already is refused, and the file stays as it is', async () => {
  const { list, text } = listed()
  expect(await list.add({ id: 'a', pubkey: alice, allow: [] })).toMatchObject({ ok: true, value: { id: 'a' } })
  const before = text()
  for (const [id, pubkey] of [
    ['a', bob],
    ['b', alice],
  ] as const)
    expect(await list.add({ id, pubkey, allow: [] })).toMatchObject({ error: { code: 'peer_exists' } })
  expect(text()).toBe(before)
})

test('ALP-PEER-03 operations of the call protocol stand in the same list by their paths, and nothing that only looks like one', async () => {
  const { list, text } = listed()
  const allow = ['link.ping', '/runs/list', '/node/status', '/fs/readFile']
  expect(await list.add({ id: 'a', pubkey: alice, allow })).toMatchObject({ ok: true, value: { allow } })
  expect(text()).toContain('"/runs/list"')
  const paths = ['/', '/runs', '/runs/', 'runs/list', '/node/runs/list', '/runs/list/', '/runs/*', '//list']
  for (const wrong of [...paths, '/a b/c', '/runs/list\n', `/runs/${'x'.repeat(65)}`])
    expect(await list.allow('a', [wrong]), wrong).toMatchObject({ error: { code: 'invalid_peer' } })
  expect(await list.allow('a', ['/runs/watch'])).toMatchObject({ ok: true, value: { allow: ['/runs/watch'] } })
})

test.each([
  { id: '' },
  { id: 'a b' },
  { id: 'é' },
  { id: '../x' },
  { id: 'x'.repeat(65) },
  { pubkey: 'x' },
  { pubkey: ` ${bob}` },
  { pubkey: `${bob}\n` },
  { alias: 'two\nlines' },
  { alias: '' },
  { alias: '\u0085' },
  { alias: 'x'.repeat(300) },
  { address: 'nowhere' },
  { address: 'a\u2028b:1' },
  { allow: ['link'] },
  { allow: ['link.ping\n'] },
  { allow: Array.from({ length: 65 }, () => 'link.ping') },
  { perMinute: 0 },
  { perMinute: 1.5 },
])('ALP-PEER-02 what no reader could use is not written: %j', async wrong => {
  const { list, path } = listed()
  const added = await list.add({ id: 'b', pubkey: bob, allow: [], ...wrong })
  expect(added.ok).toBe(false)
  expect(existsSync(path)).toBe(false)
})

test('ALP-PEER-06 an entry is written in its order, every text quoted, empty fields left out', async () => {
  const { list, text } = listed()
  await list.add({ id: 'a', pubkey: alice, allow: [] })
  await list.add({
    perMinute: 30,
    allow: ['link.ping', 'link.ask'],
    address: 'home:7423',
    alias: 'yes',
    pubkey: bob,
    id: 'no',
  })
  expect(text()).toBe(`- id: "a"
  pubkey: "${alice}"
  allow: []
- id: "no"
  pubkey: "${bob}"
  alias: "yes"
  address: "home:7423"
  allow:
  - "link.ping"
  - "link.ask"
  rate_limit:
    per_minute: 30
`)
  expect(list.named('no')).toMatchObject({ alias: 'yes', perMinute: 30 })
})

const BY_HAND = `# who may call us

- pubkey: ${alice} # compared on the phone
  id: laptop
  address: null
  note: mine
  # keep this short
  allow:
    - link.ping # costs nothing
    - link.ask
  budget: {usd: 5}

# the one in the cellar
- id: nas
  pubkey: ${bob}
  rate_limit: {}
  allow: [link.ping]
`

test('ALP-PEER-06 a change keeps the comments, the unknown fields and the legacy budget of a list written by hand', async () => {
  const { list, text } = listed(BY_HAND)
  expect((await list.allow('laptop', ['link.ping', 'link.cancel', 'link.ping'])).ok).toBe(true)
  await list.add({ id: 'c', pubkey: carol, allow: ['link.ping'] })
  expect(text()).toBe(`# who may call us

- id: "laptop"
  pubkey: "${alice}" # compared on the phone
  # keep this short
  allow:
  - "link.ping" # costs nothing
  - "link.cancel"
  budget: { usd: 5 }
  note: "mine"

# the one in the cellar
- id: "nas"
  pubkey: "${bob}"
  allow: [ "link.ping" ]
- id: "c"
  pubkey: "${carol}"
  allow:
  - "link.ping"
`)
  expect(await list.remove('laptop')).toMatchObject({ ok: true, value: { id: 'laptop', pubkey: alice } })
  expect(list.all().map(({ id }) => id)).toEqual(['nas', 'c'])
  expect(text()).toContain('# the one in the cellar')
})

test('ALP-PEER-06 a list that is no YAML is refused and stays byte for byte', async () => {
  for (const broken of ['- id: [', 'a: b\n', '"x"', '#'.repeat(linkLimits.peersFileBytes + 1)]) {
    const { list, text } = listed(broken)
    for (const done of [await list.add({ id: 'a', pubkey: alice, allow: [] }), await list.remove('a')])
      expect(done).toMatchObject({ ok: false, error: { code: 'peers_unreadable' } })
    expect(text()).toBe(broken)
  }
})

test('ALP-PEER-06 an entry that others refer to by an alias is not taken away', async () => {
  const before = `- id: a\n  pubkey: ${alice}\n  allow: &all [link.ping]\n- id: b\n  pubkey: ${bob}\n  allow: *all\n`
  const { list, text } = listed(before)
  expect(list.named('b')?.allow).toEqual(['link.ping'])
  expect(await list.remove('a')).toMatchObject({ ok: false, error: { code: 'peers_unreadable' } })
  expect(text()).toBe(before)
})

test('ALP-PEER-06 aliases that would grow without end are no list', () => {
  const levels = Array.from({ length: 20 }, (_, n) => `- &x${n + 1} [${`*x${n},`.repeat(9)}]`).join('\n')
  expect(listed(`- &x0 [1]\n${levels}\n`).list.all()).toEqual([])
})

test('ALP-PEER-06 the mode that a person gave the list stays, and a link to it too', async () => {
  const { list, path } = listed()
  const elsewhere = join(temporaryFolder(), 'my-peers.yaml')
  writeFileSync(elsewhere, `- id: a\n  pubkey: ${alice}\n`)
  chmodSync(elsewhere, 0o640)
  symlinkSync(elsewhere, path)
  expect((await list.add({ id: 'b', pubkey: bob, allow: [] })).ok).toBe(true)
  expect(lstatSync(path).isSymbolicLink()).toBe(true)
  expect(readFileSync(elsewhere, 'utf8')).toContain(bob)
  expect(statSync(elsewhere).mode & 0o777).toBe(0o640)
})

test('ALP-PEER-06 changes at the same time all arrive, and no lock and no half file is left', async () => {
  const { list, path } = listed()
  const keys = Array.from({ length: 20 }, (_, n) => Buffer.alloc(32, n + 1).toString('base64'))
  const added = await Promise.all(keys.map((pubkey, n) => list.add({ id: `p${n}`, pubkey, allow: [] })))
  expect(added.every(({ ok }) => ok)).toBe(true)
  expect(list.all()).toHaveLength(20)
  expect(readdirSync(dirname(path))).toEqual(['peers.yaml'])
})

/** A list on a clock that passes while somebody waits. */
function locking() {
  const { peers: path, peersLock: lock } = linkPaths(temporaryFolder())
  mkdirSync(dirname(path), { recursive: true })
  const clock = new ManualClock()
  const list = new PeerList(path, { clock, lock })
  const spend = async <T>(adding: Promise<T>): Promise<T> => {
    for (let turns = 0; turns < 400; turns++) {
      clock.advance(25)
      await idle(1)
    }
    return adding
  }
  return { list, lock, path, spend }
}

test('ALP-PEER-06 an empty lock file is held by another implementation: it is never taken for dead, however old', async () => {
  const { list, lock, path, spend } = locking()
  for (const old of [false, true]) {
    writeFileSync(lock, '')
    if (old) utimesSync(lock, 1_000_000, 1_000_000)
    expect(await spend(list.add({ id: 'a', pubkey: alice, allow: [] }))).toMatchObject({
      error: { code: 'locked', retryable: true, message: expect.stringContaining('is empty') },
    })
  }
  expect(existsSync(lock)).toBe(true)
  expect(existsSync(path)).toBe(false)
  rmSync(lock)
  expect((await spend(list.add({ id: 'a', pubkey: alice, allow: [] }))).ok).toBe(true)
})

test('ALP-PEER-06 another program that holds the lock is waited for, and refused after a while; a dead one is not', async () => {
  const { list, lock, path, spend } = locking()
  writeFileSync(lock, `${process.ppid}\n`)
  expect(await spend(list.add({ id: 'a', pubkey: alice, allow: [] }))).toMatchObject({
    error: { code: 'locked', retryable: true },
  })
  expect(existsSync(path)).toBe(false)
  // A process that is gone; a file that names nobody; a process number that came again.
  const { pid } = spawnSync('true')
  for (const [id, holder, old] of [
    ['a', `${pid}\n`, false],
    ['b', 'somebody', false],
    ['c', `${process.ppid}\n`, true],
  ] as const) {
    writeFileSync(lock, holder)
    if (old) utimesSync(lock, 1_000_000, 1_000_000)
    const pubkey = { a: alice, b: bob, c: carol }[id]
    expect((await spend(list.add({ id, pubkey, allow: [] }))).ok, id).toBe(true)
  }
  expect(existsSync(lock)).toBe(false)
})

test('ALP-PEER-06 a crash at any step leaves the old list or the new one, and the next change works', async () => {
  const pin = { id: 'c', pubkey: carol, allow: ['link.ping'] }
  for (let at = 0, done = false; !done; at++) {
    const made = listed(BY_HAND)
    const disk = new CrashingDisk(at)
    const crashing = new PeerList(made.path, { clock: new SystemClock(), lock: made.lock, disk })
    done = await crashing.add(pin).then(
      ({ ok }) => ok,
      thrown => {
        if (!(thrown instanceof Crash)) throw thrown
        return false
      },
    )
    const now = made.list.all().map(({ id }) => id)
    expect(['laptop,nas', 'laptop,nas,c'], `step ${at}`).toContain(now.join())
    if (done) expect(now).toContain('c')
    if (!now.includes('c')) expect((await made.list.add(pin)).ok).toBe(true)
    expect(made.list.all()).toHaveLength(3)
  }
})

test('ALP-PEER-06 the disk that crashes would notice a file that is not synced before it is renamed', () => {
  const paths = linkPaths(temporaryFolder())
  mkdirSync(dirname(paths.peers), { recursive: true })
  const sizes: number[] = []
  afterEachStep(
    disk => {
      const file = disk.open(`${paths.peers}.tmp`, 'create', 0o600)
      try {
        file.write(Buffer.from('12345678'), 0)
      } finally {
        file.close()
      }
      disk.rename(`${paths.peers}.tmp`, paths.peers)
      disk.syncFolder(dirname(paths.peers))
    },
    () => {
      if (existsSync(paths.peers)) sizes.push(statSync(paths.peers).size)
      machineDisk.remove(`${paths.peers}.tmp`)
    },
  )
  expect(sizes).toContain(4)
})

const ODD_ALIASES = [
  'yes',
  'off',
  '12:30',
  '0x10',
  '~',
  'null',
  '1_000',
  '2026-04-23T12:00:00Z',
  '# x',
  'é ✅ "q" \\',
  "'",
]

test('ALP-PEER-06 whatever was added is read back, and Python reads the same', async ({ skip }) => {
  const { list, text } = listed()
  const added = fc.sample(
    fc.record({
      id: fc.stringMatching(/^[A-Za-z0-9_-]{1,20}$/),
      alias: fc.constantFrom(...ODD_ALIASES),
      allow: fc.constantFrom([], ['link.ping'], ['link.ping', 'link.ask']),
      perMinute: fc.integer({ min: 1, max: 1000 }),
    }),
    { numRuns: 30, seed: 8 },
  )
  const ids = new Set<string>()
  for (const [n, peer] of added.entries()) {
    if (ids.has(peer.id)) continue
    ids.add(peer.id)
    expect((await list.add({ ...peer, pubkey: Buffer.alloc(32, n + 1).toString('base64') })).ok).toBe(true)
  }
  for (const peer of list.all())
    expect(added).toContainEqual(expect.objectContaining({ id: peer.id, alias: peer.alias }))
  const program = 'import sys,json,yaml; print(json.dumps(yaml.safe_load(sys.stdin.buffer)))'
  const python = spawnSync('python3', ['-c', program], { input: text() })
  skip(python.status !== 0, 'python3 with its yaml package is not installed')
  const theirs = JSON.parse(python.stdout.toString()) as { id: string; alias: string; pubkey: string }[]
  expect(theirs.map(({ id, alias, pubkey }) => ({ id, alias, pubkey }))).toEqual(
    list.all().map(({ id, alias, pubkey }) => ({ id, alias, pubkey })),
  )
})
