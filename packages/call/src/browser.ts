// The public names of @parley/call/browser, without Node.js: what a page needs to connect, to call, and to be called.
// Types come from @parley/call: nothing of an import of types is in the page.
export { connectClient } from './client.ts'
export { CallError } from './error.ts'
export { WEBSOCKET_PATH } from './limits.ts'
export { CallNode } from './node.ts'
export { operation } from './operation.ts'
export { OperationRegistry } from './registry.ts'
export { MessagePortTransport } from './transport/message-port.ts'
export { connectBrowserWebSocket } from './transport/websocket-browser.ts'
