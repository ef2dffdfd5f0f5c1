// The threat model names the numbers that hold.
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { linkDefaults, linkLimits } from './limits.ts'
import { MESSAGE_BYTES } from './noise/handshake.ts'

test('the limits and times of the threat model are those of the code', () => {
  const page = readFileSync(new URL('../../../docs/guide/threat-model.md', import.meta.url), 'utf8')
  const text = page.replace(/\s+/g, ' ')
  const [first, second, third] = MESSAGE_BYTES
  for (const words of [
    `(${first}, ${second} and ${third} bytes)`,
    `${linkDefaults.perMinute} calls a minute`,
    `for up to ${linkDefaults.turnMs / 60_000} minutes each`,
    `${linkDefaults.strangerMs / 1000} s to deliver one message, of ${linkLimits.strangerFrameBytes / 1024} KiB where more than ${linkLimits.roomyStrangers} strangers`,
  ])
    expect(text).toContain(words)
  const inWords = {
    'in its thread for twenty turns': linkLimits.threadTurns,
    'It holds twenty': linkLimits.pending,
  }
  for (const [words, number] of Object.entries(inWords)) {
    expect(text).toContain(words)
    expect(number).toBe(20)
  }
  expect(text).toContain('by more than two minutes')
  expect(linkDefaults.skewSeconds).toBe(120)
})
