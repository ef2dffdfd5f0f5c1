// The parsers on what the real programs print: `npm run clis -- --record` writes the fixtures.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ManualClock, type TurnEvent } from '@parley/core'
import { expect, test } from 'vitest'
import { Patience } from '../../outage/patience.ts'
import { type PresetName, presetNames } from '../../presets.ts'
import { AgentOutput } from '../output.ts'

/** What a program printed in one turn, read as Parley reads it. */
function read(name: PresetName, turn: string) {
  const file = readFileSync(join(import.meta.dirname, 'fixtures', `${name}-${turn}.txt`), 'utf8')
  const [out = '', err = ''] = file.split('--- standard error\n')
  const events: TurnEvent[] = []
  const clock = new ManualClock()
  const output = new AgentOutput({
    output: name,
    clock,
    emit: event => events.push(event),
    hide: text => text,
    folders: [],
    patience: new Patience(clock, undefined),
  })
  output.stderr(Buffer.from(err))
  output.stdout(Buffer.from(out))
  return { end: output.end(), events }
}

const ANSWER = 'I wrote hello.txt.'

test.each(['claude', 'codex', 'opencode', 'qwen'] as const)(
  'what a recorded turn of %s has used is known after each answer of the model',
  name => {
    const { events } = read(name, 'work')
    const used = events.flatMap(event => (event.type === 'usage' ? [event.usage.tokensIn] : []))
    expect([...new Set(used)].filter(Boolean)).toEqual([1000, 2000, 3000])
  },
)

test.each(presetNames)('the answer of a recorded turn of %s, its tools and what it cost', name => {
  const { end, events } = read(name, 'work')
  expect(end).toMatchObject({ text: ANSWER, usage: { tokensOut: 150 } })
  expect(end.failed).toBeUndefined()
  const texts = events.flatMap(event => (event.type === 'text' ? [event.text] : []))
  expect(texts).toEqual(['I write it.', ANSWER])
  const tools = events.flatMap(event => (event.type === 'tool' ? [event.summary ?? ''] : []))
  expect(tools.join('\n')).toMatch(/hello\.txt/)
})
