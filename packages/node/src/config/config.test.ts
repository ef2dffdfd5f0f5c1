// The configuration: which value holds, where it came from, and what is said about each kind of mistake.
import { readFileSync } from 'node:fs'
import { compileForeign, type ParleyError, unwrap } from '@parley/core'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { ground } from '../testing/ground.ts'
import { configProblems, loadConfig } from './load.ts'
import { configJsonSchema, teamJsonSchema } from './schema.ts'
import { SCHEMA_FILES } from './write-schema.ts'

const FULL = `# comment
turns: 3
log:
  level: debug
idle_timeout: 1h30m
default_agent: writer
agents:
  writer: { preset: claude, model: sonnet }
  tests:
    command: [node, checks/tests.mjs]
    timeout: 5m
    env: { LEVEL: quiet }
    slots: 2
`

function load(text: string | undefined, more: { env?: object; flags?: Record<string, string> } = {}) {
  const place = ground()
  const file = text === undefined ? place.path('default', 'config.yaml') : place.write('default/config.yaml', text)
  const { env, flags } = more
  return { file, result: loadConfig({ home: place.home, env: { ...env }, ...(flags && { flags }) }) }
}

function refused(text: string, more?: Parameters<typeof load>[1]): { error: ParleyError; file: string } {
  const { file, result } = load(text, more)
  if (result.ok) throw new Error('it was accepted')
  return { error: result.error, file }
}

/** What a refusal says of each mistake. */
const problems = (...given: Parameters<typeof refused>) => refused(...given).error.details.problems

describe('gates', () => {
  const text = 'gates:\n  preset: supervised\n  integration: { timeout: never }\n'

  test('of the file are those of a team file', () => {
    const { file, result } = load(text)
    const { values, entries } = unwrap(result)
    expect(values.gates).toEqual({ preset: 'supervised', gates: { integration: { timeoutMs: null } } })
    expect(entries.find(({ key }) => key === 'gates')).toMatchObject({ from: `file ${file}:1` })
  })

  test('a preset of the environment goes before the file', () => {
    const { values, entries } = unwrap(load(text, { env: { PARLEY_GATES: 'gated' } }).result)
    expect(values.gates).toEqual({ preset: 'gated', gates: {} })
    expect(entries.find(({ key }) => key === 'gates')?.from).toBe('environment PARLEY_GATES')
  })

  test.each([
    ['gates: { preset: strict }\n', {}, 'gates.preset'],
    ['gates: { integration: { timeout: soon } }\n', {}, 'gates.integration.timeout'],
    ['turns: 3\n', { PARLEY_GATES: 'strict' }, 'gates'],
  ])('%j %j is refused', (wrong, env, path) => {
    expect(problems(wrong, { env })).toMatchObject([{ code: 'bad_value', path }])
  })
})

describe('the deployment model', () => {
  test.each([
    ['zero-trust', 'zero-trust'],
    ['zero_trust', 'zero-trust'],
    ['shared_infrastructure', 'shared-infrastructure'],
    ['single-runtime', 'single-runtime'],
  ])('W-SEC-13 may be said as %s', (said, model) => {
    const { file, result } = load(`deployment: ${said}\n`)
    const { values, entries } = unwrap(result)
    expect(values.deployment).toBe(model)
    expect(entries).toContainEqual({ key: 'deployment', value: model, from: `file ${file}:1` })
    const env = { PARLEY_DEPLOYMENT: said }
    expect(unwrap(load('deployment: single-runtime\n', { env }).result).values.deployment).toBe(model)
  })

  test('that does not exist is refused, wherever it is said', () => {
    const message = expect.stringContaining('single-runtime, shared-infrastructure')
    expect(problems('deployment: mesh\n')).toMatchObject([{ path: 'deployment', line: 1, message }])
    const wrong = { code: 'bad_value', path: 'deployment', source: 'environment PARLEY_DEPLOYMENT' }
    expect(problems('turns: 3\n', { env: { PARLEY_DEPLOYMENT: 'mesh' } })).toMatchObject([wrong])
  })
})

describe('trusted keys', () => {
  const key = '11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo='

  test('come from the file or the environment', () => {
    const { file, result } = load(`trusted_keys: [${key}]\n`)
    const { values, entries } = unwrap(result)
    expect(values.trustedKeys).toEqual([key])
    expect(entries).toContainEqual({ key: 'trusted_keys', value: key, from: `file ${file}:1` })
    const env = { PARLEY_TRUSTED_KEYS: `${key}, ${key}` }
    expect(unwrap(load(undefined, { env }).result).values.trustedKeys).toEqual([key, key])
  })

  test('that are no keys are refused', () => {
    for (const wrong of ['short', key.replace('=', 'B'), `${key.slice(0, 42)}B=`])
      expect(problems(`trusted_keys: [${JSON.stringify(wrong)}]\n`)).toMatchObject([{ code: 'bad_value' }])
  })
})

describe('the record', () => {
  const text = 'trail:\n  compact: 12h\n  warm: 90d\n  cold: 3650d\n  replica: /mnt/replica\n  sign: false\n'

  test('W-TRAIL-28 has its retention, its replica and its signatures from the file', () => {
    const { file, result } = load(text)
    const { values, entries } = unwrap(result)
    const day = 86_400_000
    const kept = { compactMs: day / 2, warmMs: 90 * day, coldMs: 3650 * day, replica: '/mnt/replica', sign: false }
    expect(values).toMatchObject(kept)
    expect(entries.filter(({ key }) => key.startsWith('trail.'))).toEqual([
      { key: 'trail.compact', value: '12h', from: `file ${file}:2` },
      { key: 'trail.warm', value: '90d', from: `file ${file}:3` },
      { key: 'trail.cold', value: '3650d', from: `file ${file}:4` },
      { key: 'trail.replica', value: '/mnt/replica', from: `file ${file}:5` },
      { key: 'trail.sign', value: 'false', from: `file ${file}:6` },
    ])
  })

  test('and from the environment, which goes first', () => {
    const env = {
      PARLEY_TRAIL_COMPACT: 'off',
      PARLEY_TRAIL_WARM: '0',
      PARLEY_TRAIL_COLD: 'forever',
      PARLEY_TRAIL_REPLICA: '/mnt/other',
      PARLEY_TRAIL_SIGN: 'true',
    }
    const { values } = unwrap(load(text, { env }).result)
    expect(values).toMatchObject({ compactMs: null, warmMs: 0, coldMs: null, replica: '/mnt/other', sign: true })
  })

  test('is compacted after a delay, or not at all', () => {
    for (const [said, ms] of Object.entries({ 0: 0, off: null, false: null }))
      expect(unwrap(load(`trail: { compact: ${said} }\n`).result).values.compactMs, said).toBe(ms)
  })

  test.each([
    ['compact: soon', 'trail.compact', 'how long after the end'],
    ['compact: 31d', 'trail.compact', 'at most 30d'],
    ['warm: forever', 'trail.warm', 'a duration such as 30d'],
    ['warm: 99999d', 'trail.warm', 'at most 36500d'],
    ['cold: 1h', 'trail.cold', 'from 1d'],
    ['cold: 0', 'trail.cold', 'from 1d'],
    ['replica: backup', 'trail.replica', 'absolute path'],
    ['sign: maybe', 'trail.sign', 'true or false'],
  ])('%s is refused, with what it may be', (wrong, path, words) => {
    const problem = { code: 'bad_value', path, line: 2, message: expect.stringContaining(words) }
    expect(problems(`trail:\n  ${wrong}\n`)).toMatchObject([problem])
  })

  test('a key that is not known is told with the one that was meant', () => {
    const problem = { code: 'unknown_key', message: expect.stringContaining("'replica'") }
    expect(problems('trail: { replca: /x }\n')).toMatchObject([problem])
  })
})

/** As they are shown, in this order. */
const DEFAULTS = [
  'turns 8, runs 64, log.level "info", idle_timeout "10m", default_agent null, deployment "single-runtime"',
  'trusted_keys null, trail.compact "1m", trail.warm "30d", trail.cold "forever", trail.replica null, trail.sign "true"',
  'service.alp "true", network.host null, alp.tcp_port null, alp.call_port null, alp.agent null, alp.project null',
  'alp.approval "auto", budget.daily_usd null, public_bio null',
  'http.on "false", http.host "127.0.0.1", http.port 7424, http.names null, http.origins null',
  'http.tls_cert null, http.tls_key null, http.tls_client_ca null',
  'alx.domains null, alx.min_confidence 0.35, alx.run_limit "2m", alx.events_retention "5m", alx.abandon_after "1d"',
  'alx.approval_timeout "1d", alx.protocol_fee_bps 200, alx.settlement_paused "false", alx.aliases "true"',
  `alx.chain_id null, alx.verifying_contract "0x${'0'.repeat(40)}"`,
  'notify.bell "false", notify.terminal "off", notify.desktop "false", gates null, gates.confirm null',
].flatMap(row => row.split(', '))

describe('values', () => {
  test('without a file are the defaults', () => {
    const { values, entries } = unwrap(load(undefined).result)
    expect(values).toEqual({
      turns: 8,
      runs: 64,
      logLevel: 'info',
      httpHost: '127.0.0.1',
      httpNames: [],
      httpOn: false,
      httpOrigins: [],
      httpPort: 7424,
      httpTlsCert: undefined,
      httpTlsClientCa: undefined,
      httpTlsKey: undefined,
      idleTimeoutMs: 600_000,
      defaultAgent: undefined,
      deployment: 'single-runtime',
      trustedKeys: [],
      compactMs: 60_000,
      warmMs: 30 * 86_400_000,
      coldMs: null,
      replica: undefined,
      sign: true,
      alp: true,
      networkHost: undefined,
      alpTcpPort: undefined,
      alxAbandonMs: 86_400_000,
      alxAliases: true,
      alxApprovalMs: 86_400_000,
      alxChainId: undefined,
      alxContract: `0x${'0'.repeat(40)}`,
      alxDomains: {},
      alxEventsMs: 300_000,
      alxFeeBps: 200,
      alxMinConfidence: 0.35,
      alxRunLimitMs: 120_000,
      alxSettlementPaused: false,
      alpCallPort: undefined,
      alpAgent: undefined,
      alpProject: undefined,
      alpApproval: 'auto',
      dailyUsd: null,
      publicBio: undefined,
      notifyBell: false,
      notifyTerminal: 'off',
      notifyDesktop: false,
      agents: {},
    })
    expect(new Set(entries.map(({ from }) => from))).toEqual(new Set(['default']))
    expect(entries.map(({ key, value }) => `${key} ${JSON.stringify(value)}`)).toEqual(DEFAULTS)
  })

  test('of the file say in which line they stand', () => {
    const { file, result } = load(FULL)
    const { values, entries } = unwrap(result)
    expect(values).toMatchObject({ turns: 3, logLevel: 'debug', idleTimeoutMs: 5_400_000, defaultAgent: 'writer' })
    const said = entries.filter(({ from }) => from !== 'default')
    expect(said.map(({ key, from }) => `${key} ${from}`)).toEqual([
      `turns file ${file}:2`,
      `log.level file ${file}:4`,
      `idle_timeout file ${file}:5`,
      `default_agent file ${file}:6`,
      `agents.writer file ${file}:8`,
      `agents.tests file ${file}:9`,
    ])
  })

  test('of the environment go before the file, and flags before both', () => {
    const env = { PARLEY_TURNS: '5', PARLEY_IDLE_TIMEOUT: '0', PARLEY_LOG_LEVEL: '' }
    const { values, entries } = unwrap(load(FULL, { env, flags: { turns: '7' } }).result)
    expect(values).toMatchObject({ turns: 7, idleTimeoutMs: 0, logLevel: 'debug' })
    expect(entries.slice(0, 4).map(({ from }) => from)).toEqual([
      'flag --turns',
      'default',
      expect.stringMatching(/^file .*:4$/),
      'environment PARLEY_IDLE_TIMEOUT',
    ])
  })

  test('of agents are those of a team file, and values of variables are not shown', () => {
    const { values, entries } = unwrap(load(FULL).result)
    expect(values.agents).toMatchObject({
      tests: { command: ['node', 'checks/tests.mjs'], timeoutMs: 300_000, slots: 2 },
      writer: { preset: 'claude', model: 'sonnet' },
    })
    expect(JSON.stringify(entries)).not.toContain('quiet')
    expect(entries.find(({ key }) => key === 'agents.tests')).toMatchObject({ value: { env: ['LEVEL'] } })
  })

  test.each(['', '# nothing\n', '{}'])('an empty file (%j) is one', text => {
    expect(load(text).result.ok).toBe(true)
  })

  test('the profile comes from a flag, the environment, or is the default', () => {
    const { result } = load(undefined, { env: { PARLEY_PROFILE: 'work' } })
    expect(unwrap(result).paths.profile).toBe('work')
  })
})

describe('mistakes', () => {
  test.each([
    ['a key that is not known', 'turns: 1\nlogg:\n  level: info\n', 'unknown_key', 2, 1, "Did you mean 'log'?"],
    ['a nested one', 'log:\n  levle: info\n', 'unknown_key', 2, 3, "Did you mean 'level'?"],
    ['a value of another type', 'turns: many\n', 'bad_value', 1, 8, 'a whole number from 1 to 256'],
    ['a value out of range', '\nturns: 0\n', 'bad_value', 2, 8, 'a whole number from 1 to 256'],
    ['a cap on runs that lets nobody begin', 'runs: 0\n', 'bad_value', 1, 7, 'a whole number from 1 to 256'],
    ['a level that is none', 'log: { level: loud }\n', 'bad_value', 1, 15, 'one of debug, info'],
    ['a duration without unit', 'idle_timeout: 10\n', 'bad_value', 1, 15, 'a duration such as'],
    ['a duration that is too long', 'idle_timeout: 9999h\n', 'bad_value', 1, 15, 'at most 720h'],
    ['a list in place of settings', '- turns\n', 'bad_value', 1, 1, 'settings'],
    ['a key twice', 'turns: 1\nturns: 2\n', 'duplicate_key', 2, 1, ''],
    ['text that is no YAML', 'turns: [1\n', 'yaml_syntax', 2, 1, ''],
    ['a second document', 'turns: 1\n---\nturns: 2\n', 'yaml_syntax', 2, 1, 'second document'],
    ['an alias of nothing', 'turns: 1\nlog: *none\n', 'bad_value', 2, 6, '*none'],
    ['an agent with an unknown key', 'agents:\n  a:\n    comand: [x]\n', 'unknown_key', 3, 5, "mean 'command'?"],
    ['an agent with a bad value', 'agents:\n  a:\n    command: [x]\n    timeout: soon\n', 'bad_value', 4, 14, ''],
    ['an agent that is none', 'agents:\n  a: 3\n', 'wrong_type', 2, 6, ''],
    ['an agent with a preset that is none', 'agents:\n  a: { preset: clyde }\n', 'bad_value', 2, 16, ''],
  ])('%s', (_what, text, code, line, column, words) => {
    const { error, file } = refused(text)
    expect(error.code).toBe('invalid_config')
    const problem = { code, line, column, source: file, message: expect.stringContaining(words) }
    expect(error.details.problems).toMatchObject([problem])
    expect(error.message).toContain(`${file}:${line}:${column}: `)
  })

  test('of the environment and of flags are named', () => {
    const { error } = refused('turns: 1\n', { env: { PARLEY_TURNS: 'x' }, flags: { 'log-level': 'loud' } })
    expect(configProblems(error)).toEqual([
      'environment PARLEY_TURNS: turns must be a whole number from 1 to 256, not "x".',
      expect.stringMatching(/^flag --log-level: log.level must be one of/),
    ])
  })

  test('are told all at once', () => {
    const { error } = refused('turns: 0\nlog: { level: loud }\nx: 1\n')
    expect(configProblems(error)).toHaveLength(3)
    expect(error.message).toContain('(and 2 more)')
  })

  test('that would take all memory end in a refusal', () => {
    const bomb = `a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c,*c,*c,*c,*c,*c]\n`
    expect(refused(bomb).error.code).toBe('invalid_config')
    expect(refused(`turns: ${'['.repeat(20_000)}`).error.code).toBe('invalid_config')
    expect(problems('x'.repeat(300_000))).toMatchObject([{ code: 'too_large' }])
  })
})

describe('a schema for editors', () => {
  test.each([...SCHEMA_FILES])('%s is the one of the code (write-schema.ts writes it)', (file, schema) => {
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(schema())
  })

  test.each([configJsonSchema(), teamJsonSchema()])('needs nothing from elsewhere', schema => {
    expect(schema.$schema).toBe('https://json-schema.org/draft/2020-12/schema')
    expect(JSON.stringify(schema)).not.toContain('$ref')
    expect(compileForeign(schema)).toMatchObject({ ok: true })
  })

  test('accepts what is accepted and refuses what it can see', () => {
    const schema = unwrap(compileForeign(configJsonSchema()))
    expect(schema.problems(parse(FULL))).toEqual([])
    for (const wrong of ['turns: 0', 'logg: 1', 'idle_timeout: 5', 'agents: { a: { comand: [x] } }'])
      expect(schema.is(parse(wrong)), wrong).toBe(false)
  })
})

describe('http', () => {
  test.each([
    ['http-host', 'example.com'],
    ['http-host', '127.0.0.1:80'],
    ['http-port', '65536'],
    ['http-names', 'http://a.example'],
    ['http-names', 'a.example:0'],
    ['http-origins', '*'],
    ['http-origins', 'https://a.example/'],
    ['http-origins', 'https://a.example:443'],
    ['http-origins', 'null'],
    ['http-tls-key', 'key.pem'],
  ])('--%s %s is refused', (flag, value) => {
    expect(load(undefined, { flags: { [flag]: value } }).result).toMatchObject({
      ok: false,
      error: { code: 'invalid_config' },
    })
  })
})
