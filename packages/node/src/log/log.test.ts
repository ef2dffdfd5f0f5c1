// What the node writes down: lines that programs can read, short ones for people, and never a secret.
import { readFileSync, statSync } from 'node:fs'
import { ManualClock, ParleyError } from '@parley/core'
import { describe, expect, test } from 'vitest'
import { nodeLimits } from '../limits.ts'
import { ground } from '../testing/ground.ts'
import { openLog, shortLine } from './log.ts'
import { logTail } from './log-tail.ts'
import { isSecretName, scrub } from './redact.ts'

const TOKEN = 'pws.run_01abc.ws_02def.3.dGhpcyBpcyBhIHNlY3JldA-_x'

function logged(write: (log: ReturnType<typeof openLog>) => void, level: 'debug' | 'warn' = 'debug') {
  const file = ground().write('node.log', '')
  const log = openLog({ level, file, clock: new ManualClock() })
  write(log)
  log.close()
  const text = readFileSync(file, 'utf8')
  const lines = text.split('\n').filter(Boolean)
  return { text, lines: lines.map(line => JSON.parse(line) as Record<string, unknown>) }
}

describe('lines', () => {
  test('are JSON with time, level, message and facts', () => {
    const { lines } = logged(log => log.info('the run has started', { run: 'run_1' }))
    const time = '2026-01-01T00:00:00.000000Z'
    expect(lines).toEqual([{ level: 'info', time, pid: process.pid, run: 'run_1', msg: 'the run has started' }])
  })

  test('below the level are left out', () => {
    const write = (log: ReturnType<typeof openLog>) => {
      log.info('no')
      log.warn('yes')
    }
    expect(logged(write, 'warn').lines).toMatchObject([{ msg: 'yes' }])
  })

  test('of an error have its code and details, its stack and cause', () => {
    const told = { code: 'trail_full', message: 'The disk is full.', details: { free: 0 } }
    const cause = new ParleyError(told.code, told.message, { details: told.details })
    expect(logged(log => log.error('failed', { cause })).lines[0]).toMatchObject({ cause: told })
  })

  test('that are too long are cut and stay JSON', () => {
    const { lines, text } = logged(log => log.info('long', { text: 'x'.repeat(nodeLimits.logLine) }))
    expect(text.length).toBeLessThan(nodeLimits.logLine)
    expect(lines[0]).toMatchObject({ msg: 'long', cut: expect.any(Number) })
  })

  test('for people are short, and what comes from outside cannot steer the terminal', () => {
    const time = '2026-01-01T12:03:04.000000Z'
    const line = JSON.stringify({ level: 'warn', time, pid: 1, run: 'r 1', msg: 'a\u001b[2J b' })
    expect(shortLine(line, false)).toBe('12:03:04 warn  a [2J b run="r 1"')
    expect(shortLine(line, true)).toContain('\u001b[33mwarn \u001b[0m')
  })
})

describe('secrets', () => {
  test('under telling names are dropped, at any depth', () => {
    const { text } = logged(log =>
      log.info('turn', {
        token: 'aaa-1',
        authToken: 'aaa-2',
        nested: [{ api_key: 'aaa-3', Authorization: 'aaa-4' }],
        environment: { X: 'aaa-5' },
        cause: new ParleyError('x', 'm', { details: { password: 'aaa-6' } }),
      }),
    )
    expect(text).not.toContain('aaa-')
    expect(text).toContain('[redacted]')
  })

  test('in messages and in output are taken out', () => {
    const { text } = logged(log => {
      log.info(`refused ${TOKEN}`)
      const lines = ['Authorization: Bearer abcdefghijkl', 'GITHUB_TOKEN=abc123xyz', 'sk-ant-abcdefgh12345678']
      log.error('output', { lines })
      log.error('failed', { cause: new Error(`bad token ${TOKEN}`) })
      log.info('GET /?t=parley_k3jx2mq5abcd_c2VjcmV0IG9mIGEgdG9rZW4')
    })
    for (const secret of ['dGhpcyBpcyBh', 'c2VjcmV0', 'abcdefghijkl', 'abc123xyz', 'abcdefgh12345678'])
      expect(text).not.toContain(secret)
    // Whose it was can be told.
    expect(text).toContain('pws.run_01abc.ws_02def.3.')
    expect(text).toContain('parley_k3jx2mq5abcd_[redacted]')
  })

  test('private keys do not get through', () => {
    expect(scrub('x -----BEGIN PRIVATE KEY-----\\nMC4CAQ\\n-----END PRIVATE KEY----- y')).not.toContain('MC4CAQ')
  })

  test('are told from what merely counts them', () => {
    expect(isSecretName('auth_token')).toBe(true)
    expect(isSecretName('PARLEY_TOKEN')).toBe(true)
    expect(isSecretName('tokens_in')).toBe(false)
    expect(isSecretName('author')).toBe(false)
  })
})

describe('the file', () => {
  test('is put aside at its limit, the newest three are kept, and all are for the owner only', () => {
    const place = ground()
    const file = place.path('node.log')
    place.write('x', '')
    const log = openLog({ level: 'info', file, fileOptions: { bytes: 1000, files: 3 } })
    for (let number = 0; number < 100; number++) log.info(`line ${number}`)
    log.close()
    expect(() => statSync(`${file}.4`)).toThrow()
    const all = [`${file}.3`, `${file}.2`, `${file}.1`, file].map(each => {
      expect(statSync(each).size).toBeLessThanOrEqual(1000)
      expect(statSync(each).mode & 0o777).toBe(0o600)
      return readFileSync(each, 'utf8')
    })
    const numbers = [...all.join('').matchAll(/line (\d+)/g)].map(([, number]) => Number(number))
    expect(numbers.at(-1)).toBe(99)
    expect(numbers).toEqual(Array.from(numbers, (_, index) => numbers[0]! + index))
  })

  test('goes on where an earlier node ended', () => {
    const file = ground().write('node.log', 'before\n')
    const log = openLog({ level: 'info', file })
    log.info('after')
    log.close()
    expect(readFileSync(file, 'utf8')).toMatch(/^before\n\{/)
  })

  test('that cannot be written stops nobody', () => {
    const log = openLog({ level: 'info', file: '/dev/full' })
    expect(() => log.info('x')).not.toThrow()
    log.close()
  })

  test('has last lines that an error can show', () => {
    const file = ground().write('node.log', '{"level":"error","msg":"first"}\nthe runtime says TOKEN=abcdef\n')
    expect(logTail(file)).toEqual(['error: first', 'the runtime says TOKEN=[redacted]'])
    expect(logTail(`${file}.none`)).toEqual([])
  })
})
