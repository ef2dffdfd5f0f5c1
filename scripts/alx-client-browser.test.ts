// @parley/alx-client in a real browser: a streamed solve whose connection is lost, resumed, its approval answered.
import { expect, test } from 'vitest'
import { FakeAlx } from '../packages/alx-client/src/testing/fake-alx.ts'
import { serve } from '../packages/alx-client/src/testing/http-server.ts'
import type { PageResult, PageSettings } from '../packages/alx-client/src/testing/page.ts'
import { CALL, eventsOf } from '../packages/alx-client/src/testing/samples.ts'
import { bundled, executablePath, servePage, titleOf } from './browser-page.ts'

/** What the package's README asks of a server for pages of other origins. */
const CORS = {
  'access-control-allow-methods': 'GET, POST',
  'access-control-allow-headers':
    'authorization, content-type, x-alx-protocol-version, x-correlation-id, last-event-id',
  'access-control-expose-headers': 'retry-after',
}

test.skipIf(!executablePath).each([
  ['its own', 'torn'],
  ['another', 'ended'],
])(
  'ALX-SDK-04 a page solves on %s origin: the stream that is %s early is resumed, the approval answered',
  async (whose, how) => {
    const code = await bundled(`${import.meta.dirname}/../packages/alx-client/src/testing/page.ts`)
    const bytes = Buffer.byteLength(JSON.stringify(eventsOf('run_1', 'approved')[0])) + 120
    const fake = new FakeAlx({
      course: 'approved',
      cut: count => (count === 1 ? { bytes, clean: how === 'ended' } : undefined),
    })
    let origin = ''
    const alx = await serve((asked, response) => {
      if (!asked.url.startsWith('/alx/')) return servePage(code, asked.url, response)
      if (whose === 'another') {
        for (const [name, value] of Object.entries(CORS)) response.setHeader(name, value)
        response.setHeader('access-control-allow-origin', origin)
      }
      if (asked.method === 'OPTIONS') return response.writeHead(204).end()
      expect(asked.headers.authorization).toBe('Bearer secret-token')
      return fake.handle(asked, response)
    })
    const apart = await serve((asked, response) => servePage(code, asked.url, response, new URL(alx.url).origin))
    origin = new URL(whose === 'another' ? apart.url : alx.url).origin
    const settings: PageSettings = { baseUrl: alx.url, token: 'secret-token', input: CALL }
    const result = (await titleOf(`${origin}/#${encodeURIComponent(JSON.stringify(settings))}`)) as PageResult
    expect(result).toEqual({
      evaluates: false,
      events: eventsOf('run_1', 'approved').map((event, index) => ({ type: event.type, seq: index + 1 })),
      approvals: ['It deploys: ä 😀 \u2028'],
      status: 'completed',
      result: 'Done: ä 😀',
    })
    // A browser may drop what it had of a torn stream. Then not even the run is known, and the solve is sent again.
    const resumed = how === 'torn' ? expect.stringMatching(/^(GET 1|POST)$/) : 'GET 1'
    expect(fake.streams).toEqual(['POST', resumed, 'GET 3'])
    expect(fake.runs).toBe(1)
  },
)
