import { appendFile, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { buildSignedProtocolRequestDomain, type SignedProtocolRequest } from '@alx/protocol/core'
import { ManualClock, type Ticks, ticksPerMillisecond, ticksPerSecond } from '@parley/core'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../testing/knowledge.ts'
import { kbLimits } from './limits.ts'
import { Nonces } from './nonces.ts'
import { type SignedMatter, SignedRequests, signedRequestHeader } from './signed-requests.ts'

// Signed with ethers 6 and the private key 0x1111…: see the tests of @alx/protocol/core.
const agent = '0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A'
const terms = { chainId: '8453', verifyingContract: '0x000000000000000000000000000000000000dEaD' }
const domain = buildSignedProtocolRequestDomain(terms)
const kbHash = '0x25cde9b360a9ac2c66038ab2bf6a311b2fe6da4d277d004b94f5ded4d371b0bc'
const expiry = 1_767_225_600
const request: SignedProtocolRequest = {
  kbId: kbHash,
  query: 'How often? café \u{1f600}',
  agent,
  nonce: 2n ** 200n + 7n,
  expiry,
  chainId: '8453',
}
const signature =
  '0xab019d58cef35424b11a377ab98eae1656ef090bc5da618122bc13c8431e5964' +
  '488f090a150904b0e71fe24a3f306a61b123938c07f6d679a4ee8cb059bb78db1b'
const header = signedRequestHeader(request, signature, domain)
const good: SignedMatter = { kbHash }
const clockAt = (seconds: number) => new ManualClock((seconds * ticksPerSecond) as Ticks)

async function opened(clock = clockAt(expiry - 60), file?: string) {
  const nonces = await Nonces.open(file, () => clock.now())
  return new SignedRequests({ ...terms, nonces, clock })
}
const reasonOf = (result: Awaited<ReturnType<SignedRequests['verify']>>) =>
  result.ok ? 'ok' : `${result.error.code} ${result.error.details?.[0]?.issue ?? ''}`.trim()
const reencoded = (change: (value: ReturnType<typeof JSON.parse>) => void) => {
  const value = JSON.parse(Buffer.from(header, 'base64url').toString())
  change(value)
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

test('ALX-SIG-02 a signed request names its signer, and is good once', async () => {
  const signed = await opened()
  expect(await signed.verify(header, good)).toEqual({ ok: true, value: { agent, query: request.query } })
  expect(reasonOf(await signed.verify(header, good))).toBe('UNAUTHORIZED NONCE_REUSED')
})

test.each<[string, string, string, SignedMatter?]>([
  ['MALFORMED_REQUEST', 'no base64url', 'a b'],
  ['MALFORMED_REQUEST', 'no JSON', Buffer.from('{').toString('base64url')],
  ['MALFORMED_REQUEST', 'JSON of another shape', Buffer.from('[]').toString('base64url')],
  ['MALFORMED_REQUEST', 'a nonce that is a number', reencoded(value => (value.request.nonce = 7))],
  ['MALFORMED_REQUEST', 'a nonce of 257 bits', reencoded(value => (value.request.nonce = String(2n ** 256n)))],
  ['MALFORMED_REQUEST', 'a header that is too long', 'A'.repeat(kbLimits.signedRequestLength + 1)],
  [
    'MALFORMED_REQUEST',
    'an expiry in the far future',
    reencoded(value => (value.request.expiry = String(expiry + 90_000))),
  ],
  ['CHAIN_MISMATCH', 'another chain of the domain', reencoded(value => (value.domain.chainId = '1'))],
  ['CHAIN_MISMATCH', 'another chain of the request', reencoded(value => (value.request.chainId = '1'))],
  [
    'INVALID_SIGNATURE',
    'another contract',
    reencoded(value => (value.domain.verifyingContract = `0x${'0'.repeat(40)}`)),
  ],
  ['INVALID_SIGNATURE', 'another name', reencoded(value => (value.domain.name = 'Other'))],
  ['INVALID_SIGNATURE', 'another block', header, { kbHash: kbHash.replace('25', '26') }],
  ['INVALID_SIGNATURE', 'another settlement', header, { kbHash, queryId: 'q' }],
  ['INVALID_SIGNATURE', 'an altered query', reencoded(value => (value.request.query += '!'))],
  ['INVALID_SIGNATURE', 'another signature', reencoded(value => (value.signature = `0x${'1'.repeat(130)}`))],
])('ALX-SIG-04 %s for %s, and the nonce stays unused', async (code, _what, presented, matter = good) => {
  const signed = await opened()
  expect(reasonOf(await signed.verify(presented, matter))).toBe(`UNAUTHORIZED ${code}`)
  expect(reasonOf(await signed.verify(header, good))).toBe('ok')
})

test('ALX-SIG-02 a request is good until its expiry and not at it', async () => {
  const clock = clockAt(expiry)
  expect(reasonOf(await (await opened(clock)).verify(header, good))).toBe('UNAUTHORIZED REQUEST_EXPIRED')
  clock.set((clock.now() - ticksPerMillisecond) as Ticks)
  expect(reasonOf(await (await opened(clock)).verify(header, good))).toBe('ok')
})

test('ALX-SIG-03 used nonces are known after a start, until what carried them has expired; torn lines do no harm', async () => {
  const file = join(await temporaryFolder(), 'alx.nonces')
  const clock = clockAt(expiry - 60)
  expect(reasonOf(await (await opened(clock, file)).verify(header, good))).toBe('ok')
  await appendFile(file, '0x19e7 12')
  expect(reasonOf(await (await opened(clock, file)).verify(header, good))).toBe('UNAUTHORIZED NONCE_REUSED')
  await appendFile(file, '0x19e7')
  const nonces = await Nonces.open(file, () => clock.now())
  expect(nonces.take(agent, '1', expiry + 60)).toBe(true)
  await nonces.remember(agent, '1', expiry + 60)
  expect((await Nonces.open(file, () => clock.now())).size).toBe(2)
  clock.advance(60_000)
  const later = await Nonces.open(file, () => clock.now())
  expect(later.size).toBe(1)
  expect(later.take(agent.toLowerCase(), '1', expiry + 60)).toBe(false)
  expect((await readFile(file, 'utf8')).split('\n')).toEqual([`${agent.toLowerCase()} 1 ${expiry + 60}`, ''])
})

test('ALX-SIG-03 a request whose nonce cannot be kept has no effect', async () => {
  const folder = await temporaryFolder()
  const signed = await opened(undefined, join(folder, 'alx.nonces'))
  const clock = clockAt(expiry - 60)
  const nonces = await Nonces.open(join(folder, 'alx.nonces'), () => clock.now())
  nonces.remember = async () => {
    throw Object.assign(new Error('ENOSPC'), { code: 'ENOSPC', syscall: 'write' })
  }
  const full = new SignedRequests({ ...terms, nonces, clock })
  expect(reasonOf(await full.verify(header, good))).toBe('UPSTREAM_UNAVAILABLE')
  expect(reasonOf(await signed.verify(header, good))).toBe('ok')
})

test('ALX-SIG-03 no more nonces are taken than are remembered; those that have expired make room', async () => {
  const clock = clockAt(1000)
  const nonces = await Nonces.open(undefined, () => clock.now())
  for (let nonce = 0; nonce < kbLimits.nonces; nonce++) nonces.take(agent, String(nonce), nonce === 0 ? 1001 : 5000)
  expect(nonces.take(agent, 'new', 5000)).toBe(false)
  clock.advance(1000)
  expect(nonces.take(agent, 'new', 5000)).toBe(true)
  expect(nonces.size).toBe(kbLimits.nonces)
})
