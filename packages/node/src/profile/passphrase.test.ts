// The passphrase that answers can need: checked by the node, bounded in attempts, and nowhere to be found.
import { chmodSync, readFileSync, statSync } from 'node:fs'
import { ManualClock, ok, type Result, refuse, unwrap } from '@parley/core'
import { describe, expect, test } from 'vitest'
import { loadConfig } from '../config/load.ts'
import { storePassphrase } from '../config/store-passphrase.ts'
import { nodeLimits, nodeTimes } from '../limits.ts'
import { filesWith, ground } from '../testing/ground.ts'
import { startedNode } from '../testing/started.ts'
import { AnswerPassphrase, hashPassphrase, isPassphraseHash } from './passphrase.ts'

const WORDS = 'correct horse battery'
const code = (result: Result<unknown>) => (result.ok ? 'ok' : result.error.code)

function passphrase(hash: string | undefined, kept: Result<void> = ok(undefined)) {
  const clock = new ManualClock()
  const stored: (string | undefined)[] = []
  const warnings: string[] = []
  const store = (next: string | undefined) => {
    stored.push(next)
    return kept
  }
  const made = new AnswerPassphrase({ hash, clock, store, warn: message => void warnings.push(message) })
  return { made, clock, stored, warnings }
}

describe('a passphrase', () => {
  test('is kept as a salted hash that fits it and nothing else', async () => {
    const [one, other] = [await hashPassphrase(WORDS), await hashPassphrase(WORDS)]
    expect(one).not.toBe(other)
    expect(isPassphraseHash(one)).toBe(true)
    const { made, warnings } = passphrase(one)
    expect(code(await made.check(undefined))).toBe('passphrase_required')
    expect(code(await made.check(''))).toBe('passphrase_required')
    expect(code(await made.check(`${WORDS} `))).toBe('passphrase_wrong')
    expect(code(await made.check(WORDS))).toBe('ok')
    expect(warnings).toEqual([expect.not.stringContaining(WORDS)])
    expect(code(await passphrase(undefined).made.check(undefined))).toBe('ok')
  })

  test.each([
    '',
    WORDS,
    'scrypt:32768:8:1:x:y',
    `scrypt:999999:8:1:${'a'.repeat(22)}:${'b'.repeat(43)}`,
    `scrypt:32767:8:1:${'a'.repeat(22)}:${'b'.repeat(43)}`,
    `scrypt:32768:99:1:${'a'.repeat(22)}:${'b'.repeat(43)}`,
  ])('%j is no hash of one', line => expect(isPassphraseHash(line)).toBe(false))

  test('is tried a few times and no more, however many come at once, until time has passed', async () => {
    const { made, clock } = passphrase(await hashPassphrase(WORDS))
    const many = await Promise.all(Array.from({ length: 9 }, () => made.check('wrong one')))
    expect(many.filter(each => code(each) === 'passphrase_wrong')).toHaveLength(nodeLimits.passphraseAttempts)
    expect(many.filter(each => code(each) === 'passphrase_locked')).toHaveLength(4)
    const details = { retry_at: expect.stringContaining('T') }
    expect(await made.check(WORDS)).toMatchObject({ ok: false, error: { details } })
    clock.advance(nodeTimes.passphraseWindow)
    expect(code(await made.check(WORDS))).toBe('ok')
    expect(code(await made.check('wrong one'))).toBe('passphrase_wrong')
  })

  test('is changed, or taken away, by whoever knows it', async () => {
    const { made, stored } = passphrase(undefined)
    expect(code(await made.change('short', undefined))).toBe('invalid_argument')
    expect(code(await made.change(WORDS, undefined))).toBe('ok')
    expect(made.required).toBe(true)
    expect(code(await made.change('another one', undefined))).toBe('passphrase_required')
    expect(code(await made.change(undefined, 'not this'))).toBe('passphrase_wrong')
    expect(code(await made.change('another one', WORDS))).toBe('ok')
    expect(code(await made.check(WORDS))).toBe('passphrase_wrong')
    expect(code(await made.change(undefined, 'another one'))).toBe('ok')
    expect(made.required).toBe(false)
    expect(stored).toEqual([expect.stringMatching(/^scrypt:/), expect.stringMatching(/^scrypt:/), undefined])
  })

  test('that cannot be kept does not count', async () => {
    const { made } = passphrase(undefined, refuse('profile_unusable', 'no'))
    expect(code(await made.change(WORDS, undefined))).toBe('profile_unusable')
    expect(made.required).toBe(false)
  })
})

describe('config.yaml', () => {
  test('keeps everything else as it was, and is for its owner alone', async () => {
    const place = ground()
    const text = '# mine\nturns: 3 # a few\ngates:\n  preset: gated\n'
    const file = place.write('default/config.yaml', text)
    chmodSync(file, 0o644)
    const hash = await hashPassphrase(WORDS)
    unwrap(storePassphrase(file, hash))
    expect(readFileSync(file, 'utf8')).toBe(`${text}  confirm: ${hash}\n`)
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(place.config().values).toMatchObject({ turns: 3, passphrase: hash, gates: { preset: 'gated' } })
    unwrap(storePassphrase(file, undefined))
    expect(readFileSync(file, 'utf8')).toBe(text)
  })

  test('is made where there is none, and says of gates nothing but this', async () => {
    const place = ground()
    place.write('default/x', '')
    const hash = await hashPassphrase(WORDS)
    const file = place.path('default', 'config.yaml')
    unwrap(storePassphrase(file, hash))
    const { values, entries } = place.config()
    expect(values.passphrase).toBe(hash)
    expect(values.gates).toBeUndefined()
    expect(JSON.stringify(entries)).not.toContain('scrypt')
    expect(entries).toContainEqual({ key: 'gates.confirm', value: 'a passphrase', from: `file ${file}:2` })
    unwrap(storePassphrase(file, undefined))
    expect(place.config().values.passphrase).toBeUndefined()
    expect(code(storePassphrase(place.write('default/bad.yaml', 'a: ['), hash))).toBe('invalid_config')
  })

  test.each([`"${WORDS}"`, `scrypt:32767:8:1:${'a'.repeat(22)}:${'b'.repeat(43)}`, '12345678'])(
    'does not take the passphrase itself, nor a hash that nobody can pay for, and does not repeat it: %s',
    said => {
      const place = ground()
      place.write('default/config.yaml', `gates:\n  confirm: ${said}\n`)
      const loaded = loadConfig({ env: place.env, home: place.home })
      expect(loaded).toMatchObject({ ok: false, error: { code: 'invalid_config' } })
      const told = loaded.ok ? '' : JSON.stringify(loaded.error)
      expect(told).toContain('parley passphrase')
      expect(told).toMatch(/"line":2/)
      expect(told).not.toContain(said.replaceAll('"', ''))
    },
  )
})

test('the node wants it with every answer from the moment it is set, and keeps it nowhere', async () => {
  const place = ground()
  const first = await startedNode({ place })
  const approve = (more: object = {}) =>
    first.client.call('gates', 'respond', { gate: 'gate_1', decision: 'approve', ...more })
  const reply = (more: object = {}) =>
    first.client.call('escalations', 'respond', { question: 'sig_1', answer: 'delegate', ...more })
  expect(await first.client.call('gates', 'passphrase', { passphrase: WORDS })).toEqual({ required: true })
  await expect(approve()).rejects.toMatchObject({ code: 'passphrase_required' })
  await expect(reply()).rejects.toMatchObject({ code: 'passphrase_required' })
  await expect(approve({ passphrase: 'wrong one' })).rejects.toMatchObject({ code: 'passphrase_wrong' })
  expect(first.coordinator.answers).toEqual([])
  await reply({ passphrase: WORDS })
  expect(first.coordinator.answers).toHaveLength(1)
  expect(JSON.stringify(first.coordinator.answers)).not.toContain(WORDS)
  // What an agent writes into the file while the node runs changes nothing.
  unwrap(storePassphrase(place.path('default', 'config.yaml'), undefined))
  await expect(approve()).rejects.toMatchObject({ code: 'passphrase_required' })
  expect(JSON.stringify(first.log.lines)).not.toMatch(/correct horse|wrong one/)
  await first.node.stop('for the test')
  expect(filesWith(place, WORDS)).toEqual([])
})
