import { expect, test } from 'vitest'
import type { SignedProtocolRequest } from './request.ts'
import { SignedRequestValidationError } from './request.ts'
import { buildSignedProtocolRequestDomain, hashSignedProtocolRequest } from './typed-data.ts'
import { NonceTracker, recoverSignedProtocolRequestSigner, verifySignedProtocolRequest } from './verify.ts'

// Made with ethers 6 and the private key 0x1111…: another implementation's hashes and signatures.
const agent = '0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A'
const domain = buildSignedProtocolRequestDomain({
  chainId: 8453,
  verifyingContract: '0x000000000000000000000000000000000000dEaD',
})
const request: SignedProtocolRequest = {
  kbId: '0x25cde9b360a9ac2c66038ab2bf6a311b2fe6da4d277d004b94f5ded4d371b0bc',
  query: 'How often? café \u{1f600}',
  agent,
  nonce: 2n ** 200n + 7n,
  expiry: 1767225600,
  chainId: '8453',
}
const signature =
  '0xab019d58cef35424b11a377ab98eae1656ef090bc5da618122bc13c8431e5964' +
  '488f090a150904b0e71fe24a3f306a61b123938c07f6d679a4ee8cb059bb78db1b'
const anotherDomain = buildSignedProtocolRequestDomain({ chainId: 1n, verifyingContract: `0x${'0'.repeat(40)}` })
const another = { ...request, query: '', nonce: 0, chainId: 1 }
const anotherSignature =
  '0x56db32409493fdf01981ae0204e55452423b2f401607f81203cdb87b9a6842b7' +
  '36e4b56e372886e1fc96591e91eb06be7e90787a019c0c41fdd9d8554e4765cc1c'

const nowMs = 1767225599_999
const verify = (changes: Partial<Parameters<typeof verifySignedProtocolRequest>[0]> = {}) =>
  verifySignedProtocolRequest({ request, signature, domain, nonces: new NonceTracker(), nowMs, ...changes })

const codeOf = (run: () => unknown) => {
  try {
    return run()
  } catch (error) {
    return error instanceof SignedRequestValidationError ? error.code : error
  }
}

test('ALX-SIG-01 hash and signer are those of another implementation', () => {
  expect(hashSignedProtocolRequest(request, domain)).toBe(
    '0x1f72496b400845b40af258bf5d12c8928c103934b14e396d565721dcc431417a',
  )
  expect(hashSignedProtocolRequest(another, anotherDomain)).toBe(
    '0xd503379812c28da0b1021d617eb5ee6457b87ed6a34b61bc3896ed79d01efadd',
  )
  expect(recoverSignedProtocolRequestSigner(request, signature, domain)).toBe(agent)
  expect(recoverSignedProtocolRequestSigner(another, anotherSignature, anotherDomain)).toBe(agent)
  // Wallets that count the recovery from 0 instead of 27.
  expect(recoverSignedProtocolRequestSigner(request, signature.replace(/1b$/, '00'), domain)).toBe(agent)
})

test('ALX-SIG-02 a good request is verified, with its signer, its numbers as decimals and its kbId as a kbHash', () => {
  const kbId = request.kbId.toUpperCase().replace('0X', '0x')
  expect(verify({ request: { ...request, kbId, agent: agent.toLowerCase() } })).toEqual({
    ok: true,
    signer: agent,
    request: { ...request, agent: agent.toLowerCase(), nonce: String(2n ** 200n + 7n), expiry: '1767225600' },
  })
})

/** s replaced by n − s, and the recovery by the other one: the same signature for a verifier that does not care. */
const highS = () => {
  const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
  const s = order - BigInt(`0x${signature.slice(66, 130)}`)
  return `${signature.slice(0, 66)}${s.toString(16).padStart(64, '0')}1c`
}

test.each<[string, string, Parameters<typeof verify>[0]]>([
  ['MALFORMED_REQUEST', 'a short kbId', { request: { ...request, kbId: '0x12' } }],
  ['MALFORMED_REQUEST', 'a negative nonce', { request: { ...request, nonce: -1 } }],
  ['MALFORMED_REQUEST', 'a nonce of 257 bits', { request: { ...request, nonce: 2n ** 256n } }],
  ['MALFORMED_REQUEST', 'a fraction', { request: { ...request, expiry: 1.5 } }],
  ['MALFORMED_REQUEST', 'an expiry of 65 bits', { request: { ...request, expiry: 2n ** 64n } }],
  ['MALFORMED_REQUEST', 'a chain in hex', { request: { ...request, chainId: '0x2105' } }],
  ['MALFORMED_REQUEST', 'an agent that is no address', { request: { ...request, agent: 'me' } }],
  ['CHAIN_MISMATCH', 'another chain, though it has expired too', { domain: anotherDomain, nowMs: nowMs + 1 }],
  ['REQUEST_EXPIRED', 'its last second, though the signature is wrong too', { nowMs: nowMs + 1, signature: '0x' }],
  ['INVALID_SIGNATURE', 'no signature', { signature: '0x' }],
  ['INVALID_SIGNATURE', 'more than a signature', { signature: `${signature}00` }],
  ['INVALID_SIGNATURE', 'a signature that is no hex', { signature: 'zz'.repeat(65) }],
  ['INVALID_SIGNATURE', 'the signature of another request', { request: { ...request, query: 'How often?' } }],
  ['INVALID_SIGNATURE', 'the other s', { signature: highS() }],
  ['INVALID_SIGNATURE', 'another agent', { request: { ...request, agent: `0x${'1'.repeat(40)}` } }],
])('ALX-SIG-02 %s for %s, and the nonce stays unused', (code, _what, changes) => {
  const nonces = new NonceTracker()
  expect(codeOf(() => verify({ nonces, ...changes }))).toBe(code)
  expect(verify({ nonces }).ok).toBe(true)
})

test('ALX-SIG-03 a nonce is used once by each agent, however its address is written', () => {
  const nonces = new NonceTracker()
  expect(verify({ nonces }).ok).toBe(true)
  expect(codeOf(() => verify({ nonces, request: { ...request, agent: agent.toLowerCase() } }))).toBe('NONCE_REUSED')
  expect(nonces.consume('0xAB', '1')).toBe(true)
  expect(nonces.consume('0xab', '1')).toBe(false)
  expect(nonces.consume('0xac', '1')).toBe(true)
})
