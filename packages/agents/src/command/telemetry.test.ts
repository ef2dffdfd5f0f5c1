// What programs tell beside their output while they work: their telemetry, and the log of codex.
import { join } from 'node:path'
import { ManualClock } from '@parley/core'
import { expect, test } from 'vitest'
import { Workshop } from '../testing/workshop.ts'
import { codexLogged } from './parsers/codex.ts'
import type { JsonObject } from './parsers/parser.ts'
import { TelemetryEvents } from './telemetry.ts'

const written = (name: string, more: object) =>
  `${JSON.stringify({ resource: {}, attributes: { 'event.name': name, ...more }, _body: '}\n{' }, undefined, 2)}\n`

test('the events of a telemetry file are read as they come, in whatever pieces', () => {
  const seen: JsonObject[] = []
  const events = new TelemetryEvents(line => seen.push(line))
  const file = `${written('a.api_retry', { n: 1 })}{\n  "name": "span"\n}\n${written('b.api_response', { n: 2 })}`
  for (const character of file) events.push(character)
  events.push('{\n  broken\n}\n')
  expect(seen).toMatchObject([
    { type: 'telemetry', event: 'api_retry', n: 1 },
    { type: 'telemetry', event: 'api_response', n: 2 },
  ])
})

const refusal = written('qwen-code.api_retry', {
  attempt_number: 1,
  error_message: '429 You exceeded your current quota, please check your plan and billing details.',
  status_code: 429,
  retry_delay_ms: 1500,
})

test('qwen is silent while it tries again: its telemetry tells why, and another agent can take over', async () => {
  const shop = new Workshop()
  shop.node(
    'bin/qwen',
    `import { readFileSync, writeFileSync } from 'node:fs'
    const { telemetry, model } = JSON.parse(readFileSync(process.env.QWEN_CODE_SYSTEM_DEFAULTS_PATH, 'utf8'))
    if (model.generationConfig.maxRetries !== 0) process.exit(3)
    writeFileSync(telemetry.outfile, ${JSON.stringify(refusal)})
    setInterval(() => {}, 1000)`,
  )
  const environment = { PATH: shop.path(join(shop.folder, 'bin')), HOME: shop.folder }
  const options = { environment, bin: '/p/bin', tokens: shop.temporary }
  const { result, events } = await shop.take({ preset: 'qwen' }, { token: 'tok', patienceMs: 12_000 }, options)
  expect(result).toMatchObject({
    error: { code: 'agent_unavailable', details: { outage: { reason: 'credit', status: 429 } } },
  })
  expect(events).toContainEqual({
    type: 'notice',
    text: 'The API refuses: 429, it has no credit left; retry 1 in 2 s.',
  })
})

test('telemetry of gemini that comes with its end still counts', async () => {
  const shop = new Workshop()
  const answer = written('gemini_cli.api_response', {
    input_token_count: 1000,
    output_token_count: 50,
    cached_content_token_count: 400,
  })
  shop.node(
    'bin/gemini',
    `import { readFileSync, writeFileSync } from 'node:fs'
    const { telemetry } = JSON.parse(readFileSync(process.env.GEMINI_CLI_HOME + '/.gemini/settings.json', 'utf8'))
    writeFileSync(telemetry.outfile, ${JSON.stringify(answer + answer)})`,
  )
  const environment = { PATH: shop.path(join(shop.folder, 'bin')), HOME: shop.folder }
  const options = { environment, bin: '/p/bin', tokens: shop.temporary, clock: new ManualClock() }
  const { result } = await shop.take({ preset: 'gemini' }, { token: 'tok' }, options)
  expect(result.usage).toEqual({ tokensIn: 2000, tokensOut: 100, tokensCached: 800 })
})

test('the log of codex says what each answer used, and no other line of it is an error', () => {
  const line = (said: string) =>
    `2026-01-01T00:00:00Z  INFO codex_otel.trace_safe: event.name="codex.sse_event" ${said}`
  expect(codexLogged(line('event.kind=response.completed input_token_count=1000 output_token_count=50'))).toEqual({
    type: 'response',
    input_token_count: 1000,
    output_token_count: 50,
  })
  expect(codexLogged(line('event.kind=response.created'))).toEqual({})
  expect(codexLogged('2026-01-01T00:00:00Z ERROR codex_core: failed')).toBeUndefined()
})
