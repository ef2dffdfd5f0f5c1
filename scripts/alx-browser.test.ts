// @alx/protocol in a real browser, on a page that may evaluate no code: its identities are those of Node.js, and its
// validators work.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { bundled, executablePath, servePage, titleOf } from './browser-page.ts'

const PAGE = `
import { kbHashFromEnvelope, parseRunEvent, parseSolveCallInput } from '@alx/protocol'
import { recoverSignedProtocolRequestSigner } from '@alx/protocol/core'
import { computeSettlement } from '@alx/protocol/economics'
let evaluates = true
try { new Function('return 1')() } catch { evaluates = false }
document.title = JSON.stringify({
  evaluates,
  hash: kbHashFromEnvelope({ type: 'practice', domain: 'ops.numbers', payload: { type: 'practice', rationale: 'n',
    contexts: [1.0, -0, 1e21, 1e-7, 0.1, 100, 123456789012], failureModes: [true, false] } }),
  settled: computeSettlement({ amount: '49', kbHash: '0x', curator: 'c', links: [] }).curatorAmount,
  call: parseSolveCallInput({ intent: { verb: 'deploy', target: 5, domain: 'd' } }).error.details,
  event: parseRunEvent({ type: 'run.paused' }).ok,
  recovers: typeof recoverSignedProtocolRequestSigner,
})`

test.skipIf(!executablePath)('ALX-SDK-01 the package runs in a browser whose page must not evaluate code', async () => {
  const code = await bundled('page.js', PAGE)
  const server = createServer(({ url }, response) => servePage(code, url, response))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  expect(await titleOf(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)).toEqual({
    evaluates: false,
    hash: '0x9831e285041193e53e06a539344b864b03d49bf88c9674126626624d153e8be2',
    settled: '49',
    call: [{ path: 'intent.target', issue: 'must be string' }],
    event: true,
    recovers: 'function',
  })
})
