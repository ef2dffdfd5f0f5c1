// Files of state with anything in them: they are read as something or as nothing, and never break what reads them
// (ALP-ERR-05).
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { ManualClock } from '@parley/core'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { openLedger } from '../budget/ledger-file.ts'
import { linkPaths } from '../identity/files.ts'
import { PeerList } from '../peers/peer-list.ts'
import { PendingPeers } from '../peers/pending.ts'
import { Threads } from '../service/threads.ts'
import { temporaryFolder } from '../testing/homes.ts'
import { identityOf } from '../testing/vectors.ts'

const numRuns = process.env.PARLEY_SOAK ? 100_000 : 300

// Once: every identity holds guarded memory, of which a process has little.
const [alice, bob, carol] = [identityOf('alice').id, identityOf('bob').id, identityOf('carol').id]

const NUMBERS = ['1e999', '1e308', '.nan', '\\ud800', '9007199254740991']
const SOUND = [
  `- id: "a"\n  pubkey: "${alice}"\n  allow:\n  - "link.ping"\n  rate_limit:\n    per_minute: 30\n`,
  `- pubkey: "${alice}"\n  first_seen: 1777678347.279\n  last_seen: 1777694616.993\n`,
  '{"by_peer":{"a":{"tokens":1,"usd":0.5}},"day":"2026-01-01","history":{},"profile":{"tokens":1,"usd":0.5},"reserved":{"x":{"at":1.0,"peer":"a","usd":1.0}}}',
  '{\n  "sender": "a",\n  "turns": [\n    {\n      "at": 1.5,\n      "user": "u",\n      "assistant": "a"\n    }\n  ]\n}',
]

/** Any bytes; or a sound file with a piece of it replaced by any text. */
const contents = fc.oneof(
  fc.uint8Array({ maxLength: 200 }).map(bytes => Buffer.from(bytes)),
  fc
    .record({
      text: fc.constantFrom(...SOUND),
      from: fc.nat(250),
      length: fc.nat(20),
      piece: fc.oneof(
        fc.string({ unit: 'binary', maxLength: 12 }),
        fc.constantFrom(...['*a', '&a', '- ', '\n', '[', '{', '<<: *a', '!!binary '], ...NUMBERS),
      ),
    })
    .map(({ text, from, length, piece }) => Buffer.from(text.slice(0, from) + piece + text.slice(from + length))),
)

test('ALP-ERR-05 whatever lies in the files of peers, invites, spending and threads, they can be read and written', async () => {
  const home = temporaryFolder()
  const paths = linkPaths(home)
  const clock = new ManualClock()
  for (const path of [paths.peers, paths.ledger, join(paths.mentions, 'a')])
    mkdirSync(dirname(path), { recursive: true })
  await fc.assert(
    fc.asyncProperty(contents, async bytes => {
      for (const path of [paths.peers, paths.pending, paths.ledger, join(paths.mentions, 'a.json')])
        writeFileSync(path, bytes)
      const peers = new PeerList(paths.peers, { clock, lock: paths.peersLock })
      const before = peers.all()
      const added = await peers.add({ id: 'new', pubkey: bob, allow: ['link.ping'] })
      // Either it was added and all others are as they were, or the file is.
      expect(peers.all().map(({ id }) => id)).toEqual([...before.map(({ id }) => id), ...(added.ok ? ['new'] : [])])
      const pending = new PendingPeers(paths.pending, { clock })
      pending.knock(carol, undefined)
      expect(pending.list().some(({ pubkey }) => pubkey === carol)).toBe(true)
      pending.close()
      const ledger = openLedger(paths.ledger, { clock, cap: () => undefined })
      const spent = ledger.today().profile.usd
      const grant = ledger.reserve('a')
      if (grant.ok) grant.value.settle({ usd: 1 })
      expect(ledger.today().profile.usd).toBe(Math.min(spent + 1, 1e12))
      const threads = new Threads(paths.mentions, { clock })
      threads.add({ id: 'a', pubkey: 'k' }, 'u', 'said')
      expect(threads.history({ id: 'a', pubkey: 'k' }).at(-1)?.text).toBe('said')
    }),
    { numRuns },
  )
})
