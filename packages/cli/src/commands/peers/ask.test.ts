import { CallError } from '@parley/call'
import { ManualClock } from '@parley/core'
import { expect, test } from 'vitest'
import { cliLimits } from '../../limits.ts'
import type { AnswerView, AskedView } from '../../node/views.ts'
import { type Brought, fakeNode } from '../../testing/fake-node.ts'
import { parley } from '../../testing/parley.ts'
import { FakeTerminal } from '../../testing/terminal.ts'

const answer: AnswerView = {
  type: 'answer',
  text: 'Version 12 runs there.',
  session: '0f3a9c1d22e4',
  tokens_in: 1200,
  tokens_out: 300,
  usd: 0.02,
  interrupted: false,
  failed: false,
}

/** A node whose peer says these parts. */
function saying(parts: readonly (AskedView | Error)[]): Brought {
  return {
    '/link/ask': async function* () {
      for (const part of parts) {
        if (part instanceof Error) throw part
        yield part
      }
    },
  }
}

const spoken: readonly AskedView[] = [
  { type: 'session', session: answer.session },
  { type: 'text', text: 'Version 12 ' },
  { type: 'text', text: 'runs there.' },
  answer,
]

test('on a terminal the answer is shown as it comes, once, with what it cost on stderr', async () => {
  const terminal = new FakeTerminal({ seen: true })
  const pieces: string[] = []
  const node = fakeNode({
    '/link/ask': async function* () {
      for (const part of spoken) {
        yield part
        pieces.push(terminal.output)
      }
    },
  })
  expect(await parley(['ask', 'bob', 'Which version?'], { node, terminal })).toEqual({
    code: 0,
    out: 'Version 12 runs there.\n',
    err: '$0.02 · 1.2k tokens in, 300 out\n',
  })
  expect(pieces.slice(0, 3)).toEqual(['', 'Version 12 ', 'Version 12 runs there.'])
})

test('in a pipe the answer is printed once at its end, and nothing else', async () => {
  const terminal = new FakeTerminal()
  let early = ''
  const node = fakeNode({
    '/link/ask': async function* () {
      yield { type: 'text', text: 'on the way' }
      early = terminal.output
      yield answer
    },
  })
  expect(await parley(['ask', 'bob', 'Which?'], { node, terminal })).toEqual({
    code: 0,
    out: 'Version 12 runs there.\n',
    err: '',
  })
  expect(early).toBe('')
})

test('with --json there is one value, as it came, also on a terminal', async () => {
  const terminal = new FakeTerminal({ seen: true })
  const raw = { ...answer, text: 'a\u001b[2Jb' }
  const { out, err, code } = await parley(['ask', 'bob', 'x', '--json'], {
    node: fakeNode(saying([...spoken.slice(0, 3), raw])),
    terminal,
  })
  expect({ code, err }).toEqual({ code: 0, err: '' })
  const { type: _, ...plain } = raw
  expect(JSON.parse(out)).toEqual(plain)
})

test('ALP-ASK-04 the turn of a peer that failed is no success: its text, a remark, exit code 1, and `failed` for programs', async () => {
  const node = fakeNode(saying([{ ...answer, text: '[error] The agent failed.', failed: true }]))
  expect(await parley(['ask', 'bob', 'x'], { node })).toEqual({
    code: 1,
    out: '[error] The agent failed.\n',
    err: 'The turn of bob failed there.\n',
  })
  const { code, out } = await parley(['ask', 'bob', 'x', '--json'], { node })
  expect({ code, said: JSON.parse(out) }).toMatchObject({
    code: 1,
    said: { failed: true, interrupted: false },
  })
})

test('what a peer says cannot steer the terminal, however it is cut into pieces', async () => {
  const nasty = ['red \u001b', '[31m', '\u009b2J', '\rover', 'smile \ud83d', '\ude00', '\u202egnp']
  const pieces: string[] = []
  const terminal = new (class extends FakeTerminal {
    override out(data: string | Uint8Array): void {
      pieces.push(String(data))
      super.out(data)
    }
  })({ seen: true })
  const parts: AskedView[] = nasty.map(text => ({ type: 'text', text }))
  const text = nasty.join('')
  await parley(['ask', 'bob', 'x'], { node: fakeNode(saying([...parts, { ...answer, text }])), terminal })
  expect(terminal.output.replaceAll('\n', '')).not.toMatch(/[\p{Control}\u202e]/u)
  expect(terminal.output).toContain('smile 😀')
  // Half a character would be lost on its way.
  expect(pieces.every(piece => piece.isWellFormed())).toBe(true)
  const piped = await parley(['ask', 'bob', 'x'], { node: fakeNode(saying([{ ...answer, text }])) })
  expect(piped.out.trimEnd()).not.toMatch(/[\p{Control}\u202e]/u)
})

test('an answer that is not what was said on the way is shown below it (ALP-ASK-04)', async () => {
  const terminal = new FakeTerminal({ seen: true })
  const parts: AskedView[] = [{ type: 'text', text: 'Let me look …' }, answer]
  const { out } = await parley(['ask', 'bob', 'x'], { node: fakeNode(saying(parts)), terminal })
  expect(out).toBe('Let me look …\n\nVersion 12 runs there.\n')
})

test('text comes from standard input with -, and limits go along', async () => {
  const node = fakeNode(saying([answer]))
  const terminal = new FakeTerminal({ input: ' a long text\n' })
  await parley(['ask', 'bob', '-', '--usd', '0.5', '--tokens', '9000', '--timeout', '10m'], { node, terminal })
  const input = { peer: 'bob', prompt: 'a long text', usd: 0.5, tokens: 9000, timeout_ms: 600_000 }
  expect(node.asked('/link/ask')).toEqual([input])
  for (const wrong of [
    ['--usd', 'much'],
    ['--usd', '0'],
    ['--timeout', '5'],
  ])
    expect((await parley(['ask', 'bob', 'x', ...wrong], { node })).code).toBe(2)
  expect((await parley(['ask', 'bob', ' '], { node })).code).toBe(2)
  expect((await parley(['ask', 'bob', 'x'.repeat(cliLimits.promptLength + 1)], { node })).code).toBe(2)
})

test('a turn that was cancelled there ends with 1, and says so', async () => {
  const broken = { ...answer, interrupted: true, text: 'Version' }
  const { code, out, err } = await parley(['ask', 'bob', 'x'], { node: fakeNode(saying([broken])) })
  expect({ code, out }).toEqual({ code: 1, out: 'Version\n' })
  expect(err).toContain('was cancelled there')
})

/** A peer that has begun to answer and goes on for ever; Ctrl-C comes `times`. */
function endless(terminal: FakeTerminal, told: readonly AskedView[], last?: AskedView) {
  const seen: { signal?: AbortSignal; cancelled: unknown[] } = { cancelled: [] }
  let wake = () => {}
  const over = new Promise<void>(resolve => {
    wake = resolve
  })
  const node = (cancel: () => Promise<{ cancelled: boolean }>) =>
    fakeNode({
      '/link/ask': async function* (_input, { signal }) {
        seen.signal = signal!
        signal!.addEventListener('abort', wake)
        yield* told
        terminal.interrupt()
        await over
        if (!signal!.aborted && last) yield last
      },
      '/link/cancel': async input => {
        seen.cancelled.push(input)
        const done = await cancel()
        if (done.cancelled) wake()
        return done
      },
    })
  return { seen, node }
}

test('ALP-CANCEL-01 Ctrl-C cancels the turn there, waits for what it has cost, and says so', async () => {
  const terminal = new FakeTerminal({ seen: true })
  const { seen, node } = endless(terminal, spoken.slice(0, 2), { ...answer, interrupted: true })
  const ran = await parley(['ask', 'bob', 'x'], { node: node(async () => ({ cancelled: true })), terminal })
  expect(ran).toEqual({
    code: 130,
    out: 'Version 12 \n',
    err: 'Cancelled: the turn of bob is ending. It had cost $0.02 · 1.2k tokens in, 300 out.\n',
  })
  expect(seen.cancelled).toEqual([{ peer: 'bob', session: answer.session }])
  expect(seen.signal?.aborted).toBe(false)
  expect(terminal.listening).toBe(false)
})

test.each<[string, readonly AskedView[], () => Promise<{ cancelled: boolean }>, number]>([
  ['does not allow it', spoken.slice(0, 1), () => Promise.reject(new CallError('peer_refused', 'no')), 1],
  ['knows of no such turn', spoken.slice(0, 1), async () => ({ cancelled: false }), 1],
  ['has not told its session', [], async () => ({ cancelled: true }), 0],
])('where the peer %s, Ctrl-C hangs up', async (_, told, cancel, cancels) => {
  const terminal = new FakeTerminal()
  const { seen, node } = endless(terminal, told)
  const ran = await parley(['ask', 'bob', 'x'], { node: node(cancel), terminal })
  expect(ran).toEqual({ code: 130, out: '', err: 'Cancelled: the turn of bob is ending.\n' })
  expect(seen.signal?.aborted).toBe(true)
  expect(seen.cancelled.length).toBe(cancels)
})

test('a second Ctrl-C leaves at once; without one, a peer that does not end is not waited for any longer', async () => {
  const terminal = new FakeTerminal()
  const clock = new ManualClock()
  const { seen, node } = endless(terminal, spoken.slice(0, 1))
  const never = new Promise<{ cancelled: boolean }>(() => {})
  const ran = parley(['ask', 'bob', 'x'], { node: node(() => never), terminal, clock })
  await expect.poll(() => seen.cancelled.length).toBe(1)
  terminal.interrupt()
  expect(terminal.left).toBe(130)
  clock.advance(cliLimits.cancelMs)
  expect((await ran).code).toBe(130)
  expect(seen.signal?.aborted).toBe(true)
})

const wire = (message: string, data: unknown = null) =>
  new CallError('peer_refused', `The peer bob refused: ${message}.`, { details: { code: -1, message, data } })

test.each<[string, Error, number, string, string]>([
  ['nobody there', new CallError('target-offline', 'target-offline: refused'), 4, 'bob is offline', 'parley up'],
  ['silence', new CallError('link_empty_response', 'x'), 4, 'without an answer', 'date -u'],
  ['silence', new CallError('link_empty_response', 'x'), 4, 'not pinned your key', 'parley peers pending'],
  [
    'another key',
    new CallError('link_handshake_failed', 'x'),
    4,
    'does not match the pinned key',
    'parley peers remove',
  ],
  [
    'a handshake that stalls',
    new CallError('link_handshake_timeout', 'x'),
    4,
    'bob did not answer in time',
    'parley peers list bob',
  ],
  ['late', new CallError('link_timeout', 'x'), 4, 'did not answer in time', '--timeout'],
  ['nonsense', new CallError('link_bad_response', 'x'), 1, 'invalid answer', 'parley ping'],
  ['too much', new CallError('link_too_large', 'x'), 2, 'too large', 'less'],
  ['no address', new CallError('link_bad_address', 'x'), 2, 'The address of bob', '--address'],
  ['unknown', new CallError('unknown_peer', 'x'), 3, "No peer is pinned as 'bob'", 'parley peers'],
  ['off', new CallError('link_off', 'x'), 5, 'has no link', 'start the node'],
  ['busy', wire('target-busy', { detail: 'x' }), 5, 'bob is busy', 'later'],
  ['not allowed', wire('capability-denied', { method: 'link.ask' }), 5, '(link.ask)', 'parley peers allow'],
  ['too often', wire('rate-limited', { window_seconds: 60 }), 5, 'in this minute', 'Wait a minute'],
  ['spent', wire('budget-exceeded', { cap_kind: 'usd', cap: 5, used: 5.5 }), 5, '$5.50 of $5.00', 'budget.daily_usd'],
  ['broken there', wire('internal-error', { detail: 'no disk' }), 5, 'no disk', 'Ask again'],
  ['not understood', wire('invalid-params', { detail: 'prompt' }), 5, 'prompt', 'differently'],
  ['unknown method', wire('method-not-found'), 5, 'cannot do this', 'parley ping'],
  ['a word of the future', wire('on-strike'), 5, 'refused: on-strike', 'owner'],
])(
  'ALP-ERR-04 a peer that does not answer is told with a reason and a way on: %s',
  async (_, thrown, code, what, next) => {
    const ran = await parley(['ask', 'bob', 'x'], { node: fakeNode(saying([thrown])) })
    expect(ran).toMatchObject({ code, out: '' })
    expect(ran.err).toContain(what)
    expect(ran.err.slice(ran.err.indexOf('  next: '))).toContain(next)
    const program = await parley(['ask', 'bob', 'x', '--json'], { node: fakeNode(saying([thrown])) })
    expect(JSON.parse(program.err)).toMatchObject({
      error: { code: (thrown as CallError).code, details: { peer: 'bob' } },
    })
  },
)

test('a peer that is lost in the middle of its answer is not taken for one that says nothing', async () => {
  const terminal = new FakeTerminal({ seen: true })
  const lost = saying([...spoken.slice(0, 2), new CallError('link_empty_response', 'x')])
  const ran = await parley(['ask', 'bob', 'x'], { node: fakeNode(lost), terminal })
  expect(ran).toMatchObject({ code: 4, out: 'Version 12 \n' })
  expect(ran.err).toContain('The connection to bob was lost while it was answering')
  expect((await parley(['ask', 'bob', 'x'], { node: fakeNode(saying([])) })).code).toBe(4)
})

test('ALP-PING-01 ping tells who answers and how fast, and why nobody does', async () => {
  const node = fakeNode({ '/link/ping': { peer: 'bob', version: 1, agent_name: 'work\u001b[2J', ms: 12.3 } })
  const ran = await parley(['ping', 'bob', '--timeout', '1s'], { node })
  expect(ran).toEqual({ code: 0, out: 'bob answers: profile work, ALP version 1, 12 ms\n', err: '' })
  expect(node.asked('/link/ping')).toEqual([{ peer: 'bob', timeout_ms: 1000 }])
  const silent = fakeNode({
    '/link/ping': new CallError('link_empty_response', 'x'),
  })
  expect(await parley(['ping', 'bob'], { node: silent })).toMatchObject({
    code: 4,
    err: expect.stringContaining('without an answer'),
  })
})

test('call prints what an operation of a peer answers, and says what is wrong with it', async () => {
  const node = fakeNode({
    '/link/call': { output: { runs: [] } },
  })
  const words = ['call', 'bob', '/runs/list', '{"limit":3}', '--port', '7600', '--timeout', '1s']
  expect(await parley(words, { node })).toEqual({ code: 0, out: '{"runs":[]}\n', err: '' })
  await parley(['call', 'bob', '/services/list'], { node })
  expect(node.asked('/link/call')).toEqual([
    { peer: 'bob', operation: '/runs/list', input: { limit: 3 }, port: 7600, timeout_ms: 1000 },
    { peer: 'bob', operation: '/services/list', input: {} },
  ])
  expect(await parley(['call', 'bob', '/x/y', '{'], { node })).toMatchObject({ code: 2 })
  expect(await parley(['call', 'bob', '/x/y', '{}', '--port', '0'], { node })).toMatchObject({ code: 2 })
  const details = { code: 'FORBIDDEN', message: 'access denied' }
  const forbidding = fakeNode({
    '/link/call': new CallError('peer_refused', 'x', { details }),
  })
  expect(await parley(['call', 'bob', '/x/y'], { node: forbidding })).toMatchObject({
    code: 5,
    err: expect.stringContaining('parley call bob /services/list'),
  })
})

test('cancel tells whether there was something to cancel, and that it may not be allowed', async () => {
  const node = fakeNode({ '/link/cancel': async ({ session }) => ({ cancelled: session === undefined }) })
  expect((await parley(['cancel', 'bob'], { node })).out).toContain('Cancelled')
  expect((await parley(['cancel', 'bob', 'abc'], { node })).out).toContain('no such turn')
  expect(node.asked('/link/cancel')).toEqual([{ peer: 'bob' }, { peer: 'bob', session: 'abc' }])
  const denied = fakeNode({
    '/link/cancel': () => Promise.reject(wire('capability-denied', { method: 'link.cancel' })),
  })
  expect(await parley(['cancel', 'bob'], { node: denied })).toMatchObject({
    code: 5,
    err: expect.stringContaining('(link.cancel)'),
  })
})
