// The public names of @parley/call/browser: what runs in a page, with nothing of Node.js in it. Everything else is in index.ts.

export { type AccessRule, type PathRule, PathRules } from './access.ts'
export type { CallOptions, SubscribeOptions } from './call-options.ts'
export {
  Client,
  type ClientCallOptions,
  type ClientOptions,
  type ClientState,
  type ClientSubscribeOptions,
  type ConnectedClient,
  type Cursor,
  connectClient,
  type Resume,
} from './client.ts'
export type { AbortPolicy, OperationContext } from './context.ts'
export { type Binding, BoundEnv, EnvAssembly, type EnvOptions, type InvokeOptions } from './env.ts'
export { CALL_EVENTS, type CallEvent, type Envelope, ProtocolViolation } from './envelope.ts'
export { CALL_CODES, type CallCode, CallError } from './error.ts'
export { callDefaults, callLimits, WEBSOCKET_PATH } from './limits.ts'
export { type Dispatcher, Link, type LinkOptions } from './link.ts'
export { CallNode, type NodeOptions } from './node.ts'
export {
  type CallHandler,
  type CallOpOf,
  type Handler,
  type InputOf,
  type Operation,
  type OperationMap,
  type OpOf,
  type OutputOf,
  operation,
  type RoutedOperations,
  type ServiceOf,
  type StreamHandler,
  type StreamOpOf,
  streaming,
} from './operation.ts'
export type { RequestSink } from './outgoing.ts'
export { type OperationPath, PathPattern, parsePath } from './path.ts'
export { PROFILES, type ProfileName } from './profile/profile.ts'
export {
  OperationRegistry,
  type OutputValidation,
  type RegistryOptions,
  type SpecSource,
} from './registry.ts'
export { type CallResult, ResponseEnvelope } from './response.ts'
export { type LinkSource, type RemoteOptions, remote } from './routing/remote.ts'
export { local } from './serve.ts'
export { memoryPair } from './transport/memory.ts'
export { WS_FRAMINGS, WS_TEXTS, type WsFraming, type WsText } from './transport/message.ts'
export {
  type MessagePortOptions,
  MessagePortTransport,
  type PortLike,
  WORKER_MESSAGES,
  type WorkerMessages,
} from './transport/message-port.ts'
export type { Receiver, StreamId, Transport } from './transport/transport.ts'
export { type BrowserWebSocketOptions, connectBrowserWebSocket } from './transport/websocket-browser.ts'
