// The settings of ALP and of the daily budget: from the file that other implementations read too, from the environment,
// and their mistakes.
import { compileForeign, type ParleyError, unwrap } from '@parley/core'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { planHere } from '../link/plan.ts'
import { ground } from '../testing/ground.ts'
import { loadConfig } from './load.ts'
import { configJsonSchema } from './schema.ts'

const FULL = `service:
  alp: true
network:
  host: 192.168.1.20
alp:
  tcp_port: 7500
  call_port: 7600
  agent: claude
  project: /srv/desk
  approval: ask
budget:
  daily_usd: 2.5
public_bio: "Knows the build."
`

function load(text: string | undefined, env: Readonly<Record<string, string>> = {}, profile = 'default') {
  const place = ground()
  const file = text === undefined ? undefined : place.write(`${profile}/config.yaml`, text)
  return { file, result: loadConfig({ flags: { profile }, home: place.home, env }) }
}

function refused(text: string | undefined, env?: Readonly<Record<string, string>>): ParleyError {
  const { result } = load(text, env)
  if (result.ok) throw new Error('it was accepted')
  return result.error
}

const around = { interfaces: {}, inDocker: false }

/** What a refusal says of each mistake. */
const problems = (...given: Parameters<typeof refused>) => refused(...given).details.problems

describe('config.yaml', () => {
  test('ALP-TCP-01, ALP-BUD-01, ALP-BIO-01 has the keys that every implementation of ALP reads, with their lines', () => {
    const { file, result } = load(FULL)
    const { values, entries } = unwrap(result)
    expect(values).toMatchObject({
      alp: true,
      networkHost: '192.168.1.20',
      alpTcpPort: 7500,
      alpCallPort: 7600,
      alpAgent: 'claude',
      alpProject: '/srv/desk',
      alpApproval: 'ask',
      dailyUsd: 2.5,
      publicBio: 'Knows the build.',
    })
    const shown = entries.filter(({ key }) => /^(service|network|alp|budget|public_bio)/.test(key))
    expect(shown).toEqual([
      { key: 'service.alp', value: 'true', from: `file ${file}:2` },
      { key: 'network.host', value: '192.168.1.20', from: `file ${file}:4` },
      { key: 'alp.tcp_port', value: 7500, from: `file ${file}:6` },
      { key: 'alp.call_port', value: 7600, from: `file ${file}:7` },
      { key: 'alp.agent', value: 'claude', from: `file ${file}:8` },
      { key: 'alp.project', value: '/srv/desk', from: `file ${file}:9` },
      { key: 'alp.approval', value: 'ask', from: `file ${file}:10` },
      { key: 'budget.daily_usd', value: 2.5, from: `file ${file}:12` },
      { key: 'public_bio', value: 'Knows the build.', from: `file ${file}:13` },
    ])
    expect(unwrap(compileForeign(configJsonSchema())).problems(parse(FULL))).toEqual([])
  })

  test.each([
    ['budget: { daily_usd: 0 }', null],
    ['budget: { daily_usd: 5 }', 5],
    ['budget: {}', null],
  ])('ALP-BUD-01 %s caps at %s', (text, cap) => {
    expect(unwrap(load(text).result).values.dailyUsd).toBe(cap)
  })

  test.each([
    ['service:\n  alp: perhaps\n', 'service.alp', 'true or false'],
    ['network:\n  host: 10.0.0.4:7423\n', 'network.host', 'without a port'],
    ['network:\n  host: 10.0.0\n', 'network.host', 'an address or a name'],
    ['network:\n  host: "two words"\n', 'network.host', 'an address or a name'],
    ['alp:\n  tcp_port: 70000\n', 'alp.tcp_port', 'from 1 to 65535'],
    ['alp:\n  tcp_port: "7423"\n', 'alp.tcp_port', 'from 1 to 65535'],
    ['alp:\n  call_port: -1\n', 'alp.call_port', 'from 1 to 65535'],
    ['alp:\n  agent: "a b"\n', 'alp.agent', 'the name of an agent'],
    ['alp:\n  project: desk\n', 'alp.project', 'absolute path'],
    ['alp:\n  approval: maybe\n', 'alp.approval', 'auto, ask'],
    // Other implementations take these for "no cap", which nobody means who writes them.
    ['budget:\n  daily_usd: "5"\n', 'budget.daily_usd', 'a number of US dollars'],
    ['budget:\n  daily_usd: -1\n', 'budget.daily_usd', 'a number of US dollars'],
    ['budget:\n  daily_usd: five\n', 'budget.daily_usd', 'a number of US dollars'],
    ['budget:\n  daily_usd: .inf\n', 'budget.daily_usd', 'a number of US dollars'],
  ])('%j is refused, with its place and what it may be', (text, path, words) => {
    const problem = { code: 'bad_value', path, line: 2, message: expect.stringContaining(words) }
    expect(problems(text)).toMatchObject([problem])
  })

  test.each([
    ['alp: { tcp_prot: 1 }', "'tcp_port'"],
    ['budget: { daily: 1 }', ''],
    ['budget: { dailyusd: 1 }', "'daily_usd'"],
    ['network: { hosts: x }', "'host'"],
    ['servce: { alp: true }', "'service'"],
  ])('an unknown key (%s) is told with the one that was meant', (text, meant) => {
    expect(problems(text)).toMatchObject([{ code: 'unknown_key', message: expect.stringContaining(meant) }])
  })

  test('a bio that is no text, or too long, is refused', () => {
    expect(problems('public_bio: [a]\n')).toMatchObject([{ path: 'public_bio' }])
    const long = { path: 'public_bio', message: expect.stringContaining('at most 1000') }
    expect(problems(`public_bio: ${'x'.repeat(1001)}\n`)).toMatchObject([long])
  })
})

describe('the environment', () => {
  test('goes before the file', () => {
    const env = {
      PARLEY_SERVICE_ALP: 'false',
      PARLEY_NETWORK_HOST: 'host.example',
      PARLEY_ALP_TCP_PORT: '0',
      PARLEY_ALP_CALL_PORT: '1',
      PARLEY_ALP_AGENT: 'codex',
      PARLEY_ALP_PROJECT: '/other',
      PARLEY_ALP_APPROVAL: 'auto',
      PARLEY_DAILY_USD: '0.5',
      PARLEY_PUBLIC_BIO: 'Else.',
    }
    const { values, entries } = unwrap(load(FULL, env).result)
    expect(values).toMatchObject({
      alp: false,
      networkHost: 'host.example',
      alpTcpPort: 0,
      alpCallPort: 1,
      alpAgent: 'codex',
      alpProject: '/other',
      alpApproval: 'auto',
      dailyUsd: 0.5,
      publicBio: 'Else.',
    })
    expect(entries.find(({ key }) => key === 'budget.daily_usd')?.from).toBe('environment PARLEY_DAILY_USD')
  })

  test('ALP-TCP-01 ALPI_NETWORK_HOST and ALPI_ALP_TCP_PORT go before everything else', () => {
    const env = {
      ALPI_NETWORK_HOST: '127.0.0.1',
      PARLEY_NETWORK_HOST: '10.0.0.1',
      ALPI_ALP_TCP_PORT: '0',
      PARLEY_ALP_TCP_PORT: '7500',
    }
    const { values, entries } = unwrap(load(FULL, env).result)
    expect(values).toMatchObject({ networkHost: '127.0.0.1', alpTcpPort: 0 })
    expect(entries.find(({ key }) => key === 'network.host')?.from).toBe('environment ALPI_NETWORK_HOST')
    const plan = planHere(unwrap(load(FULL, env).result), { pinned: true, machine: around })
    expect(plan).toEqual({ unix: true, tcp: { host: '127.0.0.1', port: 0 } })
  })

  test.each([
    [{ ALPI_ALP_TCP_PORT: 'http' }, 'environment ALPI_ALP_TCP_PORT', 'alp.tcp_port'],
    [{ ALPI_NETWORK_HOST: 'a b' }, 'environment ALPI_NETWORK_HOST', 'network.host'],
    [{ PARLEY_DAILY_USD: '$5' }, 'environment PARLEY_DAILY_USD', 'budget.daily_usd'],
    [{ PARLEY_DAILY_USD: '-5' }, 'environment PARLEY_DAILY_USD', 'budget.daily_usd'],
  ])('%j is refused by its name', (env, source, path) => {
    expect(problems(undefined, env)).toMatchObject([{ code: 'bad_value', source, path }])
  })
})

describe('ALP-TCP-01 where to listen', () => {
  const planned = (profile: string, text: string, pinned = true, machine = around) =>
    planHere(unwrap(load(text, {}, profile).result), { pinned, machine })

  test('follows network.host and alp.tcp_port', () => {
    expect(planned('default', FULL)).toEqual({ unix: true, tcp: { host: '192.168.1.20', port: 7500 } })
    expect(planned('default', 'network: { host: "::1" }')).toEqual({ unix: true, tcp: { host: '::1', port: 7423 } })
    expect(planned('work', 'network: { host: 10.0.0.1 }')).toEqual({ unix: true })
    expect(planned('work', FULL)).toMatchObject({ tcp: { port: 7500 } })
  })

  test('ALP-UNIX-01 the services of an ALP-only relay, as the text has them, are accepted without effect', () => {
    const relay = 'service: { alp: true, gateway: false, schedule: false }\nnetwork: { host: 10.0.0.1 }\n'
    expect(planned('default', relay)).toEqual(planned('default', 'network: { host: 10.0.0.1 }\n'))
    expect(problems('service: { gateway: maybe }\n')).toMatchObject([{ path: 'service.gateway' }])
    expect(problems('service: { gatway: false }\n')).toMatchObject([{ path: 'service.gatway' }])
  })

  test('on no TCP port for nobody: before a peer is pinned, only where an address or a port is configured', () => {
    const container = { ...around, inDocker: true }
    expect(planned('default', '', false, container)).toEqual({ unix: true })
    expect(planned('default', '', true, container)).toMatchObject({ tcp: { host: '0.0.0.0' } })
    for (const asked of ['network: { host: 10.0.0.1 }', 'alp: { tcp_port: 7500 }', 'alp: { tcp_port: 0 }'])
      expect(planned('default', asked, false)).toEqual(planned('default', asked))
  })

  test('nowhere with service.alp: false', () => {
    const off = 'service: { alp: false }\nnetwork: { host: 10.0.0.1 }\n'
    expect(planned('default', off)).toEqual({ unix: false })
  })
})
