// The client for pages in a real browser: a page that comes over HTTP and is a node from then on.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { IdentityProvider, Principal } from '@parley/core'
import { chromium as browserType } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import type { Link } from '../link/link.ts'
import { CallNode } from '../node.ts'
import { bundleForBrowser } from '../testing/bundle.ts'
import { chromium } from '../testing/debian.ts'
import { echoRegistry } from '../testing/echo.ts'
import { memoryPair } from './memory.ts'
import { attachWebSocket } from './websocket.ts'

const SECRET = 'token-of-the-page'
const PAGE: Principal = { id: 'page', kind: 'user', scopes: ['node:register:browser-1'] }
const identities: IdentityProvider = {
  byFingerprint: async () => undefined,
  byToken: async token => (token === SECRET ? PAGE : undefined),
}
const executablePath = chromium()

/** Serves the page and its script, and is the node that the page connects to. */
async function site() {
  const { code, imports } = await bundleForBrowser(new URL('../testing/page.ts', import.meta.url))
  expect(imports).toEqual([])
  const server = createServer((request, response) => {
    const script = request.url === '/page.js'
    response.setHeader('Content-Type', script ? 'text/javascript' : 'text/html; charset=utf-8')
    response.end(script ? code : '<!doctype html><title>Parley</title><script type="module" src="/page.js"></script>')
  })
  const registry = echoRegistry()
  const stopped = Promise.withResolvers<number>()
  registry.register(
    { name: '/test/endless', opType: 'subscription', inputSchema: {}, outputSchema: {}, accessControl: {} },
    async function* () {
      let given = 0
      try {
        for (;;) yield given++
      } finally {
        stopped.resolve(given)
      }
    },
  )
  registry.register(
    {
      name: '/test/admin',
      opType: 'query',
      inputSchema: {},
      outputSchema: {},
      accessControl: { requiredScopes: ['admin'] },
    },
    () => 'never',
  )
  const node = new CallNode({ registry, head: true })
  const linked = Promise.withResolvers<Link>()
  const attached = attachWebSocket(server, transport => linked.resolve(node.attach(transport)), { identities })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    attached.close()
    server.close()
    server.closeAllConnections()
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    node,
    linked: linked.promise,
    stopped: stopped.promise,
  }
}

async function browse(url: string) {
  const browser = await browserType.launch({
    executablePath: executablePath!,
    args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
  })
  onTestFinished(() => browser.close())
  const page = await browser.newPage()
  const problems: string[] = []
  page.on('pageerror', error => problems.push(error.message))
  await page.goto(url)
  return { page, problems }
}

test.skipIf(!executablePath)(
  'CALL-T85 a page in Chromium calls, subscribes, is called and is a worker of the head, over one WebSocket',
  async () => {
    const { url, node, linked, stopped } = await site()
    const { page, problems } = await browse(`${url}#${SECRET}`)
    const link = await linked

    expect(await link.call('/page/agent')).toContain('Chrome/')
    const values: unknown[] = []
    for await (const value of link.subscribe('/page/count', 100, { buffer: 100 })) values.push(value)
    expect(values).toEqual(Array.from({ length: 100 }, (_, index) => index + 1))
    const large = { text: '中😀\u2028"'.repeat(300_000), deep: [[[null, true, 1.5]]] }
    expect(await link.call('/page/echo', large)).toEqual(large)

    const fromPage = (path: string, value: unknown = null) => link.call('/page/call', { path, value })
    expect(await fromPage('/test/whoami')).toEqual({ value: PAGE })
    expect(await fromPage('/test/echo', large)).toEqual({ value: large })
    expect(await fromPage('/test/admin')).toEqual({ code: 'FORBIDDEN' })
    expect(await fromPage('/no/such')).toEqual({ code: 'NOT_FOUND' })
    expect(await link.call('/page/collect', { path: '/test/count', value: 200, most: 1000 })).toHaveLength(200)
    expect(await link.call('/page/collect', { path: '/test/endless', value: null, most: 3 })).toEqual([0, 1, 2])
    expect(await stopped).toBeGreaterThanOrEqual(3)

    const input = { node: 'browser-1', operations: ['/notify/alert'] }
    expect(await fromPage('/head/services/register', { ...input, node: 'browser-2' })).toEqual({ code: 'FORBIDDEN' })
    expect(await fromPage('/head/services/register', input)).toMatchObject({ value: { registered: 1 } })
    const [inside, outside] = memoryPair()
    node.attach(inside)
    const client = new CallNode({ registry: echoRegistry() }).attach(outside)
    expect(await client.call('/browser-1/notify/alert', 'done')).toBe('alert: done')

    expect(problems).toEqual([])
    const closed = new Promise(resolve => link.onClose(resolve))
    await page.close()
    await closed
    await expect(client.call('/browser-1/notify/alert')).rejects.toMatchObject({ code: 'NOT_FOUND' })
  },
)

test.skipIf(!executablePath)('a page with a wrong token gets no link', async () => {
  const { url, linked } = await site()
  const { page, problems } = await browse('about:blank')
  const failed = page.waitForEvent('pageerror')
  await page.goto(`${url}#wrong`)
  await failed
  expect(problems.join()).toContain('does not accept the token')
  expect(await Promise.race([linked, 'none'])).toBe('none')
})
