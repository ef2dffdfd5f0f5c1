// The public names of @parley/call/browser, without Node.js: what a page needs to connect, to call, and to be called.

export { connectClient } from './client.ts'
export { CallError } from './error.ts'
export { WEBSOCKET_PATH } from './limits.ts'
export type { Link } from './link/link.ts'
export { CallNode } from './node.ts'
export { type OperationMap, operation, type RoutedOperations } from './operation.ts'
export { OperationRegistry } from './registry.ts'
export { MessagePortTransport } from './transport/message-port.ts'
export type { Transport } from './transport/transport.ts'
export { connectBrowserWebSocket } from './transport/websocket-browser.ts'
