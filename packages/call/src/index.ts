// The public names of @parley/call. A page imports from browser.ts.
export { type Given, type OperationMembers, operationMembers, type PathCalls } from './client/path-proxy.ts'
export { type Client, type ConnectedClient, connectClient } from './client.ts'
export { CallError, CONNECTION_CLOSED } from './error.ts'
export { callLimits, WEBSOCKET_PATH } from './limits.ts'
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
export type { AccessControl, OperationError, OperationType } from './operation-spec.ts'
export { parsePath } from './path.ts'
export { OperationRegistry } from './registry.ts'
export { ResponseEnvelope } from './response.ts'
export { remote } from './routing/remote.ts'
export { local } from './serve.ts'
export { KeyDirectory, makeToken } from './token.ts'
export { DuplexTransport } from './transport/duplex.ts'
export { memoryPair } from './transport/memory.ts'
export { MessagePortTransport } from './transport/message-port.ts'
export {
  connectTcp,
  connectTlsSocket,
  connectUnix,
  type Listening,
  listenTcp,
  listenTls,
  listenUnix,
} from './transport/sockets.ts'
export { spawnStdio, stdioTransport } from './transport/stdio.ts'
export type { Receiver, Transport } from './transport/transport.ts'
export { attachWebSocket, connectWebSocket } from './transport/websocket.ts'
