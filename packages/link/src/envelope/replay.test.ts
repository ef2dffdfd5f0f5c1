// The replay memory (ALP-ENV-08), in memory and on disk.
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { ManualClock, type Ticks } from '@parley/core'
import { describe, expect, onTestFinished, test } from 'vitest'
import { linkLimits } from '../limits.ts'
import { at } from '../testing/clock.ts'
import { temporaryFolder } from '../testing/homes.ts'
import { identityVector, vectors } from '../testing/vectors.ts'
import { ReplayJournal, type ReplayJournalOptions } from './replay-journal.ts'

function journal(path: string, options: Partial<ReplayJournalOptions> = {}) {
  const clock = options.clock ?? new ManualClock()
  const opened = ReplayJournal.open(path, { ...options, clock })
  onTestFinished(() => opened.close())
  return opened
}

const fresh = () => join(temporaryFolder(), 'replay.jsonl')

test('ALP-ENV-08 the timeline of the vectors: five minutes, the last instant included', () => {
  const start = at('2026-04-23T12:00:00Z')
  const clock = new ManualClock(start)
  const memory = journal(fresh(), { clock })
  for (const { from, nonce, t_s, admitted } of vectors.replay) {
    clock.set((start + Math.round(t_s * 1_000_000)) as Ticks)
    expect(memory.admit(from, nonce, true), `${from} ${nonce} at ${t_s} s`).toBe(admitted ? undefined : 'replay')
  }
})

test('ALP-ENV-08 a line of the journal is that of the vectors, for its owner alone', () => {
  const path = fresh()
  const memory = journal(path, { clock: new ManualClock((1777032000.5 * 1_000_000) as Ticks) })
  memory.admit(identityVector('alice').pubkey_b64, '0a78009591722cc84825ca95ee7ffa52', true)
  expect(readFileSync(path, 'utf8')).toBe(vectors.files.replay_journal_line)
  expect(statSync(path).mode & 0o777).toBe(0o600)
})

test('ALP-ENV-08 what was seen is known after a restart, for as long as it would have been', () => {
  const path = fresh()
  const clock = new ManualClock()
  const first = journal(path, { clock })
  first.admit('A', 'n1', true)
  first.close()
  clock.advance(300_000)
  const second = journal(path, { clock })
  expect(second.size).toBe(1)
  expect(second.admit('A', 'n1', true)).toBe('replay')
  second.close()
  clock.advance(1)
  const third = journal(path, { clock })
  expect(third.size).toBe(0)
  expect(third.admit('A', 'n1', true)).toBeUndefined()
})

test('ALP-ENV-08 a torn line is passed over, and the next one begins anew', () => {
  const path = fresh()
  const clock = new ManualClock()
  const first = journal(path, { clock })
  first.admit('A', 'n1', true)
  first.close()
  appendFileSync(path, '{"seen_at":17670')
  const second = journal(path, { clock })
  expect(second.admit('A', 'n1', true)).toBe('replay')
  second.admit('A', 'n2', true)
  second.close()
  const third = journal(path, { clock })
  expect(third.admit('A', 'n1', true)).toBe('replay')
  expect(third.admit('A', 'n2', true)).toBe('replay')
})

test('ALP-ENV-08 lines that are none do no harm', () => {
  const path = fresh()
  const times = ['"x"', '1e400'].map(seen_at => `{"seen_at":${seen_at},"from":"A","nonce":"n"}`)
  const lines = ['', 'rubbish', '[]', 'null', ...times, '{"from":1}', '\xff']
  writeFileSync(path, `${lines.join('\n')}\n`)
  expect(journal(path).size).toBe(0)
})

test('ALP-ENV-08 a journal that is a symbolic link, or cannot be read, is refused', () => {
  const folder = temporaryFolder()
  const target = join(folder, 'elsewhere')
  writeFileSync(target, '')
  const path = join(folder, 'replay.jsonl')
  symlinkSync(target, path)
  expect(() => journal(path)).toThrow('is a symbolic link')
  expect(readFileSync(target, 'utf8')).toBe('')
  rmSync(path)
  mkdirSync(path)
  expect(() => journal(path)).toThrow('cannot be opened')
  expect(() => journal(join(folder, 'missing', 'replay.jsonl'))).toThrow('cannot be opened')
})

test('ALP-ENV-08 a message whose pair cannot be written is dropped', () => {
  const memory = journal(fresh())
  memory.close()
  expect(memory.admit('A', 'n1', true)).toBe('replay journal')
  expect(memory.admit('A', 'n1', true)).toBe('replay journal')
})

describe('the size of the journal', () => {
  const lines = (path: string) => readFileSync(path, 'utf8').split('\n').length - 1

  test('ALP-ENV-08 it is written anew at 2048 lines that are twice those that live', () => {
    const path = fresh()
    const clock = new ManualClock()
    const memory = journal(path, { clock })
    for (let index = 0; index < 1000; index++) memory.admit('A', `old ${index}`, true)
    clock.advance(300_001)
    for (let index = 0; index < 1047; index++) memory.admit('A', `new ${index}`, true)
    expect(lines(path)).toBe(2047)
    memory.admit('A', 'new 1047', true)
    // 1048 live of 2048: not yet twice as many.
    expect(lines(path)).toBe(2048)
    clock.advance(300_001)
    memory.admit('A', 'last', true)
    expect(lines(path)).toBe(1)
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(existsSync(`${path}.tmp`)).toBe(false)
    memory.admit('A', 'after', true)
    expect(lines(path)).toBe(2)
    memory.close()
    const again = journal(path, { clock })
    expect(again.admit('A', 'last', true)).toBe('replay')
    expect(again.admit('A', 'after', true)).toBe('replay')
  })

  test('ALP-ENV-08 where it cannot be written anew the old one goes on', () => {
    const path = fresh()
    const clock = new ManualClock()
    const memory = journal(path, { clock })
    // A folder that is not empty is in the way, for root too.
    mkdirSync(`${path}.tmp`)
    writeFileSync(join(`${path}.tmp`, 'x'), '')
    for (let index = 0; index < linkLimits.replayRewriteLines; index++) {
      memory.admit('A', `${index}`, true)
      clock.advance(1000)
    }
    expect(lines(path)).toBe(linkLimits.replayRewriteLines)
    expect(memory.admit('A', 'next', true)).toBeUndefined()
    expect(memory.admit('A', 'next', true)).toBe('replay')
  })
})

describe('bounds', () => {
  test('ALP-ENV-08 a sender who passes the bound is dropped, others are not', () => {
    const clock = new ManualClock()
    const memory = journal(fresh(), { clock, limits: { perSender: 3, pairs: 5 } })
    for (const nonce of ['1', '2', '3']) expect(memory.admit('A', nonce, true)).toBeUndefined()
    expect(memory.admit('A', '4', true)).toBe('replay journal')
    expect(memory.admit('B', '1', true)).toBeUndefined()
    expect(memory.admit('B', '2', true)).toBeUndefined()
    expect(memory.admit('C', '1', true)).toBe('replay journal')
    // Nothing is pushed out for it: what was seen stays known.
    expect(memory.admit('A', '1', true)).toBe('replay')
    clock.advance(300_001)
    expect(memory.admit('C', '1', true)).toBeUndefined()
    expect(memory.size).toBe(1)
  })

  test('ALP-ENV-08 strangers are remembered, but never on disk nor in the place of a peer', () => {
    const path = fresh()
    const memory = journal(path)
    memory.admit('peer', 'n', true)
    const before = readFileSync(path, 'utf8')
    for (let index = 0; index < linkLimits.replayStrangers; index++)
      expect(memory.admit(`stranger ${index}`, 'n', false)).toBeUndefined()
    expect(memory.admit('stranger 0', 'n', false)).toBe('replay')
    memory.admit('one more', 'n', false)
    // The oldest gave way; it would be dropped as a stranger anyway.
    expect(memory.admit('stranger 0', 'n', false)).toBeUndefined()
    expect(memory.admit('peer', 'n', true)).toBe('replay')
    expect(readFileSync(path, 'utf8')).toBe(before)
  })

  test('ALP-ENV-08 who is pinned after the first message cannot be replayed either', () => {
    const memory = journal(fresh())
    memory.admit('A', 'n', false)
    expect(memory.admit('A', 'n', true)).toBe('replay')
  })

  test('ALP-ENV-08 a clock that is set back forgets nothing', () => {
    const clock = new ManualClock()
    const start = clock.now()
    const memory = journal(fresh(), { clock })
    memory.admit('A', 'n', true)
    clock.set((start - 3_600_000_000) as Ticks)
    expect(memory.admit('A', 'n', true)).toBe('replay')
  })
})
