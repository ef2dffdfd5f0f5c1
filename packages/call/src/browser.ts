// The public names of @parley/call/browser: what runs in a page, without Node.js. Everything else is in index.ts.

export type { CallOptions } from './call-options.ts'
export type { ClientCallOptions, ClientSubscribeOptions } from './client/options.ts'
export { type CallMembers, type Given, pathProxy, type StreamMembers } from './client/path-proxy.ts'
export { Client, type ConnectedClient, connectClient } from './client.ts'
export { CALL_CODES, CallError } from './error.ts'
export { callDefaults, callLimits, WEBSOCKET_PATH } from './limits.ts'
export { Link } from './link/link.ts'
export { CallNode } from './node.ts'
export {
  type InputOf,
  type Operation,
  type OperationMap,
  type OutputOf,
  operation,
  type RoutedOperations,
  streaming,
} from './operation.ts'
export { parsePath } from './path.ts'
export { PROFILES } from './profile/profile.ts'
export { OperationRegistry } from './registry.ts'
export { ResponseEnvelope } from './response.ts'
export { remote } from './routing/remote.ts'
export { local } from './serve.ts'
export { memoryPair } from './transport/memory.ts'
export { MessagePortTransport } from './transport/message-port.ts'
export type { Receiver, Transport } from './transport/transport.ts'
export { connectBrowserWebSocket } from './transport/websocket-browser.ts'
export type { Envelope } from './wire/envelope.ts'
