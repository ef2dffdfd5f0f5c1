// The passphrase at the terminal: asked for where the node wants it, typed without being seen, and forgotten soon.
import { EventEmitter } from 'node:events'
import { CallError } from '@parley/call'
import { ManualClock } from '@parley/core'
import { describe, expect, test } from 'vitest'
import { cliLimits } from '../limits.ts'
import { readSecret } from '../terminal.ts'
import { fakeNode } from '../testing/fake-node.ts'
import { parley } from '../testing/parley.ts'
import { FakeTerminal } from '../testing/terminal.ts'
import { type Calls, nodeClient } from './client.ts'
import { type Confirming, confirming } from './confirm.ts'

const WORDS = 'correct horse battery'

function wanting() {
  const seen: (string | undefined)[] = []
  const node = fakeNode({
    '/gates/respond': async ({ passphrase }) => {
      seen.push(passphrase)
      if (passphrase === undefined) throw new CallError('passphrase_required', 'needed')
      if (passphrase !== WORDS) throw new CallError('passphrase_wrong', 'wrong')
      return { run: 'run_1', gates: ['gate_1'] }
    },
  })
  return { node, seen }
}

const confirmed = (node: Calls, options: Omit<Confirming, 'fromInput'>) =>
  nodeClient(confirming(node, { ...options, fromInput: false })).gates
const answer = (gate: string) => ({ gate, decision: 'approve' }) as const

describe('an answer', () => {
  test('asks for it, again where it is wrong, and is good for the next one for a moment', async () => {
    const { node, seen } = wanting()
    const clock = new ManualClock()
    const terminal = new FakeTerminal({ interactive: true, answers: ['wrong', WORDS, WORDS] })
    const gates = confirmed(node, { terminal, clock, asks: true })
    await gates.respond(answer('gate_1'))
    expect(seen).toEqual([undefined, 'wrong', WORDS])
    await gates.respond(answer('gate_2'))
    expect(terminal.questions).toHaveLength(2)
    clock.advance(cliLimits.passphraseMs + 1)
    await gates.respond(answer('gate_3'))
    expect(terminal.questions).toHaveLength(3)
    expect(terminal.output + terminal.errors).not.toContain(WORDS)
  })

  test('asks a few times, and nobody where nobody is there', async () => {
    const { node, seen } = wanting()
    const terminal = new FakeTerminal({ interactive: true, answers: Array(9).fill('wrong') })
    const asking = confirmed(node, { terminal, clock: new ManualClock(), asks: true })
    await expect(asking.respond(answer('g'))).rejects.toMatchObject({ code: 'passphrase_wrong' })
    expect(seen).toHaveLength(1 + cliLimits.passphraseTries)
    const silent = confirmed(node, { terminal, clock: new ManualClock(), asks: false })
    await expect(silent.respond(answer('g'))).rejects.toMatchObject({ code: 'passphrase_required' })
    const away = new FakeTerminal({ interactive: true, answers: [undefined] })
    const left = confirmed(node, { terminal: away, clock: new ManualClock(), asks: true })
    await expect(left.respond(answer('g'))).rejects.toMatchObject({ code: 'interrupted' })
  })
})

describe('parley passphrase', () => {
  const keeping = (set: string | undefined) => {
    const calls: (readonly [string | undefined, string | undefined])[] = []
    const node = fakeNode({
      '/gates/passphrase': async ({ passphrase: next, present }) => {
        calls.push([next, present])
        if (set !== undefined && present === undefined) throw new CallError('passphrase_required', 'needed')
        return { required: next !== undefined }
      },
    })
    return { node, calls }
  }

  test('takes it from standard input, with the one that is set before it', async () => {
    const { node, calls } = keeping(undefined)
    const run = (input: string, ...flags: string[]) =>
      parley(['passphrase', '--stdin', ...flags], { node, terminal: new FakeTerminal({ input }) })
    expect((await run('new words\n')).code).toBe(0)
    expect((await run('old words\r\nnew words\r\n')).code).toBe(0)
    expect((await run('old words', '--off')).code).toBe(0)
    expect(calls).toEqual([
      ['new words', undefined],
      ['new words', 'old words'],
      [undefined, 'old words'],
    ])
    for (const input of ['', 'a\nb\nc\n']) expect((await run(input)).code).toBe(2)
  })

  test('is typed twice, and the one that is set is asked for', async () => {
    const { node, calls } = keeping(WORDS)
    const type = (...answers: string[]) =>
      parley(['passphrase'], { node, terminal: new FakeTerminal({ interactive: true, answers }) })
    expect((await type('new words', 'other words')).code).toBe(2)
    expect(calls).toEqual([])
    expect((await type('new words', 'new words', WORDS)).code).toBe(0)
    expect(calls.at(-1)).toEqual(['new words', WORDS])
    expect((await parley(['passphrase'], { node })).code).toBe(2)
  })
})

describe('what is typed', () => {
  class Keys extends EventEmitter {
    readonly modes: boolean[] = []
    setRawMode(raw: boolean) {
      this.modes.push(raw)
    }
    resume() {}
    pause() {}
  }
  const type = async (...keys: string[]) => {
    const input = new Keys()
    let shown = ''
    const secret = readSecret('Words: ', input, { write: text => (shown += text) })
    for (const key of keys) input.emit('data', Buffer.from(key))
    return { secret: await secret, shown, modes: input.modes, left: input.listenerCount('data') }
  }

  test('is not shown, and can be corrected', async () => {
    const clean = { shown: 'Words: \n', modes: [true, false], left: 0 }
    expect(await type('a', 'b', '\u007f', 'c\r')).toEqual({ ...clean, secret: 'ac' })
    expect(await type('wrong', '\u0015', 'grün 🌱\n')).toEqual({ ...clean, secret: 'grün 🌱' })
    expect(await type('ab', '\u0003')).toEqual({ ...clean, secret: undefined })
    expect(await type('\u0004')).toEqual({ ...clean, secret: undefined })
  })
})
