// @alx/protocol in a real browser, on a page that may evaluate no code: its identities are those of Node.js, and its
// validators work.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { chromium } from '@parley/call/testing'
import { chromium as browserType } from 'playwright-core'
import { rolldown } from 'rolldown'
import { expect, onTestFinished, test } from 'vitest'

const executablePath = chromium()

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

async function bundled(): Promise<string> {
  const bundle = await rolldown({
    input: 'page',
    cwd: import.meta.dirname,
    platform: 'browser',
    resolve: { conditionNames: ['parley-source', 'browser', 'import', 'default'] },
    plugins: [
      {
        name: 'page',
        resolveId: id => (id === 'page' ? `${import.meta.dirname}/page.js` : null),
        load: id => (id.endsWith('/page.js') ? PAGE : null),
      },
    ],
    external: /^node:/,
    logLevel: 'silent',
  })
  const { output } = await bundle.generate({ format: 'esm', codeSplitting: false })
  await bundle.close()
  const [{ code, imports, dynamicImports }] = output
  expect([...imports, ...dynamicImports]).toEqual([])
  return code
}

test.skipIf(!executablePath)('ALX-SDK-01 the package runs in a browser whose page must not evaluate code', async () => {
  const code = await bundled()
  const server = createServer((request, response) => {
    const script = request.url === '/page.js'
    response.setHeader('Content-Security-Policy', "default-src 'self'")
    response.setHeader('Content-Type', script ? 'text/javascript' : 'text/html; charset=utf-8')
    response.end(script ? code : '<!doctype html><script type="module" src="/page.js"></script>')
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  const browser = await browserType.launch({
    executablePath: executablePath!,
    args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
  })
  onTestFinished(() => browser.close())
  const page = await browser.newPage()
  const problems: string[] = []
  page.on('pageerror', error => problems.push(error.message))
  await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
  const title = await page.waitForFunction('document.title').then(handle => handle.jsonValue())
  expect(JSON.parse(String(title))).toEqual({
    evaluates: false,
    hash: '0x9831e285041193e53e06a539344b864b03d49bf88c9674126626624d153e8be2',
    settled: '49',
    call: [{ path: 'intent.target', issue: 'must be string' }],
    event: true,
    recovers: 'function',
  })
  expect(problems).toEqual([])
})
