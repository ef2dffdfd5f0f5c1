// @parley/alx-client in a real browser against a real node: a page of an origin that the node allows solves, its
// connection is cut and resumed, and the person at the page approves.
import { connect, createServer } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { serve } from '../packages/alx-client/src/testing/http-server.ts'
import type { PageResult, PageSettings } from '../packages/alx-client/src/testing/page.ts'
import { ASKED, alxNode, INTENT } from '../packages/node/src/testing/alx.ts'
import { bundled, executablePath, servePage, titleOf } from './browser-page.ts'

/** Passes bytes on to a port, and cuts the connection behind the first that hold the text. `asked`: what came. */
async function cuttingOnce(text: string) {
  const asked: string[] = []
  let port = 0
  let cuts = 0
  const server = createServer(near => {
    const far = connect(port, '127.0.0.1')
    const end = () => {
      near.destroy()
      far.destroy()
    }
    for (const socket of [near, far]) socket.on('error', end).on('close', end)
    near.on('data', bytes => {
      asked.push(...(String(bytes).match(/^(?:GET|POST) \S+/gm) ?? []))
      far.write(bytes)
    })
    far.on('data', bytes => {
      near.write(bytes)
      if (cuts > 0 || !bytes.includes(text)) return
      cuts++
      near.end()
      far.destroy()
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const address = server.address() as { readonly port: number }
  const leadTo = (to: number) => {
    port = to
  }
  return { asked, cuts: () => cuts, at: `127.0.0.1:${address.port}`, leadTo }
}

test.skipIf(!executablePath)(
  'ALX-SDK-04 a page solves on a node, resumes its stream, and answers the approval',
  async () => {
    const code = await bundled(`${import.meta.dirname}/../packages/alx-client/src/testing/page.ts`)
    const proxy = await cuttingOnce('step.completed')
    const base = `http://${proxy.at}`
    const pages = await serve((asked, response) => servePage(code, asked.url, response, base))
    const { origin } = new URL(pages.url)
    const alx = await alxNode({ team: ASKED, flags: { 'http-origins': origin, 'http-names': proxy.at } })
    proxy.leadTo(alx.port)
    const token = await alx.token('ann', ['solve', 'read', 'approve'])
    await alx.client.call('users', 'change', { user: 'ann', act: 'grant', capability: 'create_workspace' })

    const settings: PageSettings = { baseUrl: `${base}/alx`, token, input: { intent: INTENT } }
    const result = (await titleOf(`${origin}/#${encodeURIComponent(JSON.stringify(settings))}`)) as PageResult
    expect(result).toMatchObject({ evaluates: false, status: 'completed', approvals: [expect.any(String)] })
    expect(result.result).toContain('second is done')
    expect(result.events).toEqual(
      [
        'run.started',
        'artifact.created',
        'step.started',
        'step.completed',
        'approval.required',
        'step.started',
        'step.completed',
        'artifact.created',
        'run.completed',
      ].map((type, at) => ({ type, seq: at + 1 })),
    )
    expect(proxy.cuts()).toBe(1)
    const { runs } = await alx.client.call('runs', 'list', {})
    expect(runs).toMatchObject([{ state: 'done', principal: 'ann' }])
    const paths = proxy.asked.map(line => line.replace(runs[0]!.run, 'RUN'))
    expect(paths).toContain('POST /alx/v1/runs/RUN/approval')
    expect(paths.filter(line => /(?:GET .*events|POST .*solve)/.test(line)).length).toBeGreaterThan(1)
    // A page of another origin gets nothing, however good its token.
    const other = await serve((asked, response) => servePage(code, asked.url, response, base))
    const refused = (await titleOf(
      `${new URL(other.url).origin}/#${encodeURIComponent(JSON.stringify(settings))}`,
    )) as PageResult
    expect(refused.error).toContain('got no answer')
    expect((await alx.client.call('runs', 'list', {})).runs).toHaveLength(1)
  },
  60_000,
)
