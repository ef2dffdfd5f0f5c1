// What was said with a peer (ALP-ASK-08), on real files.
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Disk } from '@parley/keys/files'
import { expect, test } from 'vitest'
import { linkLimits } from '../limits.ts'
import { vectorClock } from '../testing/clock.ts'
import { Crash, CrashingDisk } from '../testing/crashing-disk.ts'
import { temporaryFolder } from '../testing/homes.ts'
import { Threads } from './threads.ts'

/** A peer whose key is named after it, or after another one. */
const of = (id: string, pubkey = `key of ${id}`) => ({ id, pubkey })

function threadsOf() {
  const folder = join(temporaryFolder(), 'mentions')
  const clock = vectorClock('2026-04-23T12:00:00Z')
  const open = (disk?: Disk) => new Threads(folder, { clock, disk })
  return { folder, threads: open(), open, text: (id: string) => readFileSync(join(folder, `${id}.json`), 'utf8') }
}

test('ALP-ASK-08 the file is ASCII JSON indented by two, in a folder of its owner', () => {
  const { threads, text, folder } = threadsOf()
  threads.add(of('alice'), 'hi\n', 'é ✅')
  threads.add(of('alice'), 'more', 'yes')
  expect(text('alice')).toBe(`{
  "sender": "alice",
  "identity": "key of alice",
  "turns": [
    {
      "at": 1776945600.0,
      "user": "hi\\n",
      "assistant": "\\u00e9 \\u2705"
    },
    {
      "at": 1776945600.0,
      "user": "more",
      "assistant": "yes"
    }
  ]
}`)
  expect(statSync(folder).mode & 0o777).toBe(0o700)
})

test('ALP-ASK-08 the agent reads one notice, then the turns in their order; of nobody else', () => {
  const { threads, open } = threadsOf()
  threads.add(of('alice'), 'one', 'two')
  threads.add(of('alice'), 'three', 'four')
  threads.add(of('bob'), 'secret', 'sure')
  const said = open().history(of('alice'))
  expect(said.map(({ title, text }) => [title, title === 'What was said before' || text])).toEqual([
    ['What was said before', true],
    ['alice said', 'one'],
    ['You answered', 'two'],
    ['alice said', 'three'],
    ['You answered', 'four'],
  ])
  expect(open().history(of('alice'))[0]?.text).toContain('memory')
  expect(open().history(of('carol'))).toEqual([])
})

test('ALP-ASK-08 the last twenty turns are kept, each text within its bound and never cut inside a character', () => {
  const { threads, text } = threadsOf()
  for (let turn = 0; turn < 25; turn++) threads.add(of('alice'), `u${turn}`, `a${turn}`)
  const turns = () => JSON.parse(text('alice')).turns as { user: string; assistant: string }[]
  expect(turns().map(({ user }) => user)).toEqual(Array.from({ length: 20 }, (_, n) => `u${n + 5}`))
  threads.add(of('alice'), 'x'.repeat(linkLimits.threadText + 5), `x${'😀'.repeat(linkLimits.threadText)}`)
  expect(turns().at(-1)!.user).toHaveLength(linkLimits.threadText)
  expect(turns().at(-1)!.assistant).toHaveLength(linkLimits.threadText - 1)
})

test('ALP-ASK-08 a thread belongs to a key: another key under the same id reads nothing of it, and begins anew', () => {
  const { threads, text } = threadsOf()
  threads.add(of('alice', 'old key'), 'my secret', 'noted')
  expect(threads.history(of('alice', 'new key'))).toEqual([])
  threads.add(of('alice', 'new key'), 'hi', 'hello')
  const [, ...said] = threads.history(of('alice', 'new key'))
  expect(said.map(({ text }) => text)).toEqual(['hi', 'hello'])
  expect(text('alice')).not.toContain('secret')
  expect(threads.history(of('alice', 'old key'))).toEqual([])
})

test('ALP-ASK-08 a thread of another implementation, which names no key, is continued', () => {
  const { threads, folder, text } = threadsOf()
  mkdirSync(folder)
  const turns = [{ at: 1.5, user: 'u', assistant: 'a' }]
  writeFileSync(join(folder, 'alice.json'), JSON.stringify({ sender: 'alice', turns }))
  expect(threads.history(of('alice'))).toHaveLength(3)
  threads.add(of('alice'), 'u2', 'a2')
  expect(JSON.parse(text('alice'))).toMatchObject({ identity: 'key of alice', turns: [{}, {}] })
})

test('ALP-ASK-08 an id that could name another file has no thread', () => {
  const { threads, folder } = threadsOf()
  for (const id of ['../x', 'a/b', 'a.b', '', 'é', 'a\n', 'x'.repeat(65)]) {
    threads.add(of(id), 'u', 'a')
    expect(threads.history(of(id)), id).toEqual([])
    threads.forget(id)
  }
  expect(existsSync(folder)).toBe(false)
})

test('ALP-ASK-08 a file that cannot be read is empty, and what it holds besides turns is ignored', () => {
  const { threads, folder } = threadsOf()
  mkdirSync(folder)
  for (const text of ['', '{', '[]', '{"turns":5}', '{"turns":[1,{"user":1,"assistant":"a"},null]}']) {
    writeFileSync(join(folder, 'alice.json'), text)
    expect(threads.history(of('alice')), text).toEqual([])
  }
  threads.add(of('alice'), 'u', 'a')
  expect(threads.history(of('alice'))).toHaveLength(3)
  threads.forget('alice')
  expect(threads.history(of('alice'))).toEqual([])
})

test('ALP-ASK-08 a crash at any step leaves the old thread or the new one', () => {
  for (let step = 0, done = false; !done; step++) {
    const { threads, open } = threadsOf()
    threads.add(of('alice'), 'u', 'a')
    try {
      open(new CrashingDisk(step)).add(of('alice'), 'u2', 'a2')
      done = true
    } catch (thrown) {
      if (!(thrown instanceof Crash)) throw thrown
    }
    expect(done ? [5] : [3, 5], `step ${step}`).toContain(open().history(of('alice')).length)
  }
})
