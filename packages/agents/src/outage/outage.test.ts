// Why an agent cannot work, read from what the real programs printed at answers of a scripted API that refuses.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ManualClock, type Ticks, type TurnEvent } from '@parley/core'
import { expect, test } from 'vitest'
import type { OutputName } from '../command/config.ts'
import { AgentOutput } from '../command/output.ts'
import { Workshop } from '../testing/workshop.ts'
import { outageText } from './outage.ts'
import { Patience } from './patience.ts'
import { resetIn } from './resets.ts'

const NOW = Date.UTC(2026, 10, 19, 17, 8)
const clockAt = (ms: number) => new ManualClock((ms * 1000) as Ticks)

interface Printed {
  readonly output: OutputName
  readonly out?: readonly (object | string)[]
  readonly err?: string
  readonly patienceMs?: number
  readonly clock?: ManualClock
}

function heard({ output, out = [], err = '', patienceMs, clock = clockAt(NOW) }: Printed) {
  const events: TurnEvent[] = []
  const patience = new Patience(clock, patienceMs)
  const agent = new AgentOutput({
    output,
    clock,
    emit: event => void events.push(event),
    hide: text => text,
    folders: ['/private/run/work', '/run/work'],
    patience,
  })
  const lines = out.map(each => (typeof each === 'string' ? each : JSON.stringify(each)))
  agent.stdout(Buffer.from(lines.map(each => `${each}\n`).join('')))
  agent.stderr(Buffer.from(err))
  const tools = () =>
    events.flatMap(each => (each.type === 'tool' ? [`${each.name} ${each.state} ${each.summary}`] : []))
  const notices = () => events.flatMap(each => (each.type === 'notice' ? [each.text] : []))
  return {
    end: () => agent.end(),
    notices,
    tools,
    patience,
    say: (line: object) => agent.stdout(Buffer.from(`${JSON.stringify(line)}\n`)),
  }
}

const retry = (attempt: number, status: number, error: string, retry_delay_ms = 552) => ({
  type: 'system',
  subtype: 'api_retry',
  attempt,
  max_retries: 10,
  retry_delay_ms,
  error_status: status,
  error,
})
const failedBy = (status: number, result: string) => ({
  type: 'result',
  subtype: 'success',
  is_error: true,
  api_error_status: status,
  result,
})
const ofCodex = (message: string) => ({ type: 'turn.failed', error: { message } })
const ofOpencode = (statusCode: number, message: string) => ({
  type: 'error',
  error: { name: 'APIError', data: { message, statusCode, isRetryable: false } },
})
const ofGemini = (code: number, message: string) => ({
  type: 'result',
  status: 'error',
  error: { type: 'unknown', message: `[API Error: ${JSON.stringify({ error: { code, message } })}]` },
})
const ofQwen = (message: string) => ({
  type: 'result',
  subtype: 'error_during_execution',
  is_error: true,
  error: { message: `[API Error: ${message}]` },
})

const cases: readonly (Printed & { readonly text: string })[] = [
  { output: 'claude', out: [failedBy(401, 'Invalid API key')], text: 'it is not logged in (401)' },
  {
    output: 'claude',
    out: [
      { type: 'rate_limit_event', rate_limit_info: { status: 'rejected', resetsAt: 1_795_118_847 } },
      {
        type: 'assistant',
        message: { content: [{ type: 'text', text: "You've hit your 5-hour limit · resets 8:07pm (UTC)" }] },
        error: 'rate_limit',
        is_api_error_message: true,
        api_error_status: 429,
      },
      failedBy(429, "You've hit your 5-hour limit · resets 8:07pm (UTC)"),
    ],
    text: 'it has no quota left (429) until 2026-11-19 20:07 UTC',
  },
  {
    output: 'claude',
    out: ["You've hit your weekly limit · resets Nov 21, 9am (Europe/Berlin)"],
    text: 'it has no quota left until 2026-11-21 08:00 UTC',
  },
  { output: 'claude', out: [failedBy(400, 'Credit balance is too low')], text: 'it has no credit left (400)' },
  { output: 'claude', out: [retry(8, 529, 'overloaded')], text: 'its service is overloaded (529)' },
  { output: 'claude', out: [retry(8, 500, 'server_error')], text: 'its service fails (500)' },
  {
    output: 'codex',
    out: [ofCodex('We’re currently experiencing high demand, which may cause temporary errors.')],
    text: 'its service is overloaded',
  },
  {
    output: 'codex',
    out: [
      ofCodex(
        'You’ve hit your usage limit. Visit https://chatgpt.com/settings/usage or try again in 3 hours 2 minutes.',
      ),
    ],
    text: 'it has no quota left until 2026-11-19 20:10 UTC',
  },
  {
    output: 'codex',
    out: [ofCodex('Quota exceeded. Check your plan and billing details.')],
    text: 'it has no credit left',
  },
  {
    output: 'codex',
    out: [ofCodex('unexpected status 401 Unauthorized: Incorrect API key provided: dummy.')],
    text: 'it is not logged in',
  },
  {
    output: 'codex',
    out: [ofCodex('exceeded retry limit, last status: 429 Too Many Requests')],
    text: 'it has no quota left',
  },
  {
    output: 'opencode',
    out: [ofOpencode(401, 'Incorrect API key provided: dummy.')],
    text: 'it is not logged in (401)',
  },
  {
    output: 'opencode',
    out: [ofOpencode(400, 'Your credit balance is too low to access the Anthropic API.')],
    text: 'it has no credit left (400)',
  },
  {
    output: 'opencode',
    err: 'timestamp=2026-11-19T17:25:53.789Z level=ERROR run=dae58d5e message="stream error" providerID=anthropic small=false agent=build error.error="AI_APICallError: This request would exceed your organization’s rate limit of 30,000 input tokens per minute."\n',
    text: 'it has no quota left',
  },
  {
    output: 'opencode',
    err: 'timestamp=2026-11-19T17:25:53.308Z level=ERROR run=707639a2 message="stream error" providerID=anthropic small=false agent=build error.error="AI_APICallError: Internal server error"\n',
    text: 'its service fails',
  },
  {
    output: 'gemini',
    out: [ofGemini(400, 'API key not valid. Please pass a valid API key.')],
    text: 'it is not logged in',
  },
  { output: 'gemini', out: [ofGemini(503, 'The model is overloaded.')], text: 'its service is overloaded' },
  {
    output: 'gemini',
    err: 'Attempt 1 failed: You exceeded your current quota, please check your plan.\nSuggested retry after 20s.. Retrying after 23960ms...\n',
    text: 'it has no quota left',
  },
  {
    output: 'gemini',
    err: 'Attempt 3 failed with status 500. Retrying with backoff... _ApiError: {}\n  status: 500\n',
    text: 'its service fails (500)',
  },
  { output: 'qwen', out: [ofQwen('401 Incorrect API key provided: dummy.')], text: 'it is not logged in' },
  { output: 'qwen', out: [ofQwen('529 busy')], text: 'its service is overloaded' },
  { output: 'text', err: 'Error: 429 Too Many Requests\n', text: 'it has no quota left' },
  { output: 'json-lines', out: [{ type: 'error', message: 'Invalid API key' }], text: 'it is not logged in' },
  {
    output: 'json-lines',
    out: [{ type: 'error', message: '503 Service Unavailable' }],
    text: 'its service is overloaded',
  },
  { output: 'json-lines', out: [{ type: 'error', message: 'API Error: 500 {}' }], text: 'its service fails' },
  { output: 'text', err: '502 Bad Gateway\n', text: 'its service fails' },
  { output: 'text', err: 'Error: connect ECONNREFUSED 127.0.0.1:1\n', text: 'its service fails' },
  { output: 'text', err: 'Credit balance is too low\n', text: 'it has no credit left' },
]

test.each(cases)('$output: $text', ({ text, ...printed }) => {
  const { outage } = heard(printed).end()
  expect(outage && outageText(outage)).toBe(text)
})

test('what an agent says of its task is no outage, and nor is a refusal after which it worked', () => {
  const said = { type: 'assistant', message: { content: [{ type: 'text', text: 'All done.' }] } }
  const wrong = { type: 'result', subtype: 'error_max_turns', is_error: true }
  expect(heard({ output: 'claude', out: [retry(1, 529, 'overloaded'), said, wrong] }).end().outage).toBeUndefined()
  expect(heard({ output: 'text', out: ['The tests fail.'] }).end().outage).toBeUndefined()
})

test('a program that ends because it has spent what it may says so, and its work counts as far as it came', async () => {
  const shop = new Workshop()
  const spent = { type: 'result', subtype: 'error_max_budget_usd', is_error: true, total_cost_usd: 0.06 }
  const look = `printf '%s ' "$@" > args; echo '${JSON.stringify(spent)}'; exit 1`
  shop.shell('bin/claude', look)
  const environment = { PATH: shop.path(join(shop.folder, 'bin')) }
  const { result } = await shop.take({ preset: 'claude' }, { budget: { usd: 0.05 } }, { environment })
  expect(readFileSync(join(shop.work, 'args'), 'utf8')).toContain('--max-budget-usd 0.0500 ')
  expect(result).toMatchObject({ error: { code: 'budget_exceeded' }, usage: { usd: 0.06 } })
})

test('every try is told to whoever watches, and noise of a known program is not', () => {
  const { notices } = heard({
    output: 'claude',
    out: [retry(3, 401, 'authentication_failed'), retry(4, 429, 'rate_limit', 24_475)],
    err: 'WARNING: proceeding anyway\n',
  })
  expect(notices()).toEqual([
    'The API refuses: 401, it is not logged in; retry 3 of 10.',
    'The API refuses: 429, it has no quota left; retry 4 of 10 in 25 s.',
  ])
  const codex = { type: 'error', message: 'Reconnecting... 2/5 (unexpected status 500 Internal Server Error)' }
  expect(heard({ output: 'codex', out: [codex] }).notices()).toEqual([
    'The API refuses: its service fails; retry 2 of 5.',
  ])
  expect(heard({ output: 'text', err: 'a line\n' }).notices()).toEqual(['a line'])
})

test('a tool is shown with what it did until it has ended, with paths as they are inside the folder', () => {
  const use = (id: string, input: object) => ({
    type: 'assistant',
    message: { content: [{ type: 'tool_use', id, name: 'Edit', input }] },
  })
  const end = (id: string) => ({ type: 'user', message: { content: [{ type: 'tool_result', tool_use_id: id }] } })
  const out = [
    use('1', { file_path: '/run/work/src/a.ts' }),
    use('2', { command: 'cat /private/run/work/b /run/works /etc/hosts' }),
    end('1'),
  ]
  expect(heard({ output: 'claude', out }).tools()).toEqual([
    'Edit started src/a.ts',
    'Edit started cat b /run/works /etc/hosts',
    'Edit finished src/a.ts',
  ])
})

test('where somebody else can take over, a service is waited for only while that makes sense', () => {
  const clock = clockAt(NOW)
  const ended = (patienceMs: number | undefined, ...out: readonly object[]) =>
    heard({ output: 'claude', out, clock, ...(patienceMs !== undefined && { patienceMs }) }).patience.signal.aborted
  expect(ended(12_000, retry(1, 401, 'authentication_failed'))).toBe(true)
  expect(ended(12_000, retry(1, 429, 'rate_limit', 24_475))).toBe(true)
  expect(ended(12_000, retry(1, 529, 'overloaded'))).toBe(false)
  expect(ended(undefined, retry(1, 401, 'authentication_failed'))).toBe(false)

  const waits = heard({ output: 'claude', out: [retry(1, 529, 'overloaded')], clock, patienceMs: 12_000 })
  const heals = heard({ output: 'claude', out: [retry(1, 529, 'overloaded')], clock, patienceMs: 12_000 })
  clock.advance(6000)
  waits.say(retry(2, 529, 'overloaded'))
  heals.say({ type: 'assistant', message: { content: [{ type: 'text', text: 'Here I am.' }] } })
  clock.advance(6000)
  expect([waits.patience.signal.aborted, heals.patience.signal.aborted]).toEqual([true, false])
})

test('a turn whose service refuses ends with what it said, so that another agent can take over', async () => {
  const shop = new Workshop()
  const line = JSON.stringify(retry(1, 401, 'authentication_failed'))
  const script = shop.shell('refused', `echo '${line}'; exec sleep 1000`)
  const { result } = await shop.take({ command: [script], output: 'claude' }, { patienceMs: 12_000 })
  expect(result).toMatchObject({
    outcome: 'failed',
    error: { code: 'agent_unavailable', details: { outage: { reason: 'account', status: 401 } } },
  })
})

test.each([
  ['resets 3am (UTC)', '2026-11-20T03:00'],
  ['resets 5:30pm (UTC)', '2026-11-19T17:30'],
  ['try again at Nov 21st, 2026 9:04 AM (UTC).', '2026-11-21T09:04'],
  ['resets Jan 2, 12am (UTC)', undefined],
  ['Please try again in 1m30s', '2026-11-19T17:09'],
  ['resets 3am (Nowhere/Land)', undefined],
  ['try again later', undefined],
])('%s', (said, until) => {
  expect(resetIn(said, (NOW * 1000) as Ticks)?.slice(0, 16)).toBe(until)
})
