// The script of the page that the Chromium test opens: a node in a browser. It connects to the server that the page
// came from, with the token in the page's address, and offers what the test asks for.
import { CallError, CallNode, connectBrowserWebSocket, OperationRegistry, WEBSOCKET_PATH } from '@parley/call/browser'

const { location } = globalThis as unknown as {
  readonly location: { readonly host: string; readonly hash: string }
}
const open = { inputSchema: {}, outputSchema: {}, accessControl: {} } as const
const registry = new OperationRegistry()

registry.register({ ...open, name: '/page/agent', opType: 'query' }, () => navigator.userAgent)
registry.register({ ...open, name: '/page/echo', opType: 'query' }, input => input)
registry.register({ ...open, name: '/page/call', opType: 'query' }, async input => {
  const { path, value } = input as { readonly path: string; readonly value: unknown }
  try {
    return { value: await link.call(path, value) }
  } catch (error) {
    return { code: error instanceof CallError ? error.code : String(error) }
  }
})
registry.register({ ...open, name: '/page/collect', opType: 'query' }, async input => {
  const { path, value, most } = input as {
    readonly path: string
    readonly value: unknown
    readonly most: number
  }
  const values: unknown[] = []
  for await (const each of link.subscribe(path, value)) if (values.push(each) === most) break
  return values
})
registry.register({ ...open, name: '/notify/alert', opType: 'mutation' }, input => `alert: ${String(input)}`)
registry.register({ ...open, name: '/page/count', opType: 'subscription' }, async function* (input) {
  for (let value = 1; value <= Number(input); value++) yield value
})

const transport = await connectBrowserWebSocket(`ws://${location.host}${WEBSOCKET_PATH}`, {
  token: location.hash.slice(1),
})
const link = new CallNode({ registry }).attach(transport)
