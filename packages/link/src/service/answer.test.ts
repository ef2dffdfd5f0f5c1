// The room that an answer has (ALP-ASK-04, ALP-UNIX-04), over real sockets; the turn itself is a script.
import { expect, test } from 'vitest'
import { Scribe } from '../envelope/envelope.ts'
import { parseWire } from '../json/parse.ts'
import type { WireObject } from '../json/value.ts'
import { linkLimits } from '../limits.ts'
import { linesOf } from '../testing/ground.ts'
import { Profile } from '../testing/profile.ts'
import { end, type Script, ScriptedRuns, saying } from '../testing/scripted-runs.ts'
import { identityOf } from '../testing/vectors.ts'
import { CARRIERS } from '../transport/channel.ts'

function scripted(script: Script): Promise<Profile> {
  return Profile.start({ runs: new ScriptedRuns(script) })
}

/** Fits neither a frame nor a long line. */
const LONG = `x${'😀'.repeat(300_000)}`

test.each(CARRIERS)(
  'ALP-ASK-04 an answer over %s has all the room that a message has, and is cut behind it',
  async carrier => {
    const profile = await scripted(saying(end('y'.repeat(1_047_000))))
    const whole = (await profile.call('link.ask', { prompt: 'x' }, { carrier })) as { text: string }
    expect(whole.text).toHaveLength(1_047_000)
    profile.runs.script = saying(end(LONG))
    const cut = (await profile.call('link.ask', { prompt: 'x' }, { carrier })) as { text: string }
    const [, missing] = /\n\n\[the answer was cut here: (\d+) of 600001 characters are missing\]$/.exec(cut.text)!
    const kept = cut.text.slice(0, cut.text.indexOf('\n\n['))
    expect(LONG.startsWith(kept) && kept.isWellFormed()).toBe(true)
    expect(Number(missing)).toBe(600_001 - kept.length)
    expect(Buffer.byteLength(kept)).toBeGreaterThan(linkLimits.frameBytes - 2 * linkLimits.answerEnvelopeBytes)
  },
)

/** What a client of the reference reads on the Unix socket: lines, the longest of which it would take. */
function lines(profile: Profile, params: WireObject): Promise<Buffer[]> {
  const scribe = new Scribe(identityOf('alice'), profile.clock)
  return linesOf(profile.paths.socket, scribe.request(profile.identity.id, 'x', 'link.ask', params))
}

test('ALP-UNIX-04 a client that does not say how long a line it reads gets lines of 64 KiB at most, and a mark where text is missing', async () => {
  const profile = await scripted(saying(end(LONG)))
  for (const more of [{}, { max_line: 1000 }, { max_line: 'much' }, { max_line: 65_534 }]) {
    const [line, ...none] = await lines(profile, { prompt: 'x', ...more })
    expect(none).toEqual([])
    expect(line!.length).toBeLessThan(65_536)
    expect(line!.length).toBeGreaterThan(65_536 - 2 * linkLimits.answerEnvelopeBytes)
    expect(line!.toString()).toContain('of 600001 characters are missing]')
  }
  const [longer] = await lines(profile, { prompt: 'x', max_line: 200_000 })
  expect(longer!.length).toBeLessThan(200_001)
  expect(longer!.length).toBeGreaterThan(190_000)
  const [longest] = await lines(profile, { prompt: 'x', max_line: 10n ** 30n })
  expect(longest!.length).toBeLessThanOrEqual(linkLimits.lineBytes)
})

test('ALP-UNIX-04 where the client asked for a stream, the whole of a long answer comes in chunks before the last line', async () => {
  const said = `${'0123456789'.repeat(20_000)}é`
  const profile = await scripted(saying({ text: 'at work' }, end(said)))
  const all = (await lines(profile, { prompt: 'x', stream: true })).map(line => parseWire(line) as WireObject)
  expect(all.map(({ stream }) => stream)).toEqual([...all.slice(1).map(() => 'chunk'), 'final'])
  const chunks = all.slice(0, -1).map(({ result }) => (result as { text: string }).text)
  expect(chunks.join('')).toBe(`at work${said}`)
  expect(all.at(-1)).toMatchObject({ result: { text: expect.stringContaining('characters are missing]') } })
  // What was streamed already is not sent again.
  profile.runs.script = saying({ text: said }, end(said))
  const once = (await lines(profile, { prompt: 'x', stream: true })).map(line => parseWire(line) as WireObject)
  const texts = once.slice(0, -1).map(({ result }) => (result as { text: string }).text)
  expect(texts.join('')).toBe(said)
})
