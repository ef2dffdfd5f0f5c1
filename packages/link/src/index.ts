// The public names of @parley/link.

export { LedgerFile, openLedger } from './budget/ledger-file.ts'
export { declaredCost, overWorkgroupCap, workgroupCap } from './budget/workgroup-cap.ts'
export { type CallTarget, type DialCallOptions, dialCall } from './call/dial-call.ts'
export {
  CALL_KIND,
  CALL_PROLOGUE,
  type CallListening,
  type ListenCallOptions,
  listenCall,
} from './call/listen-call.ts'
export { type Answer, type AskOptions, ask, cancelAsk, type Pong, ping } from './client/calls.ts'
export { LinkClient, type LinkClientOptions, LinkSession } from './client/client.ts'
export { type DialOptions, dial, dialNoise, type NoiseDialled } from './client/dial.ts'
export type { CallOptions, LinkFailure } from './client/exchange.ts'
export { type GivenUp, giveUp } from './client/give-up.ts'
export { type Mentioned, mentioned } from './client/mentioned.ts'
export { type PeerHost, type PeerPlace, peerKind } from './client/peer-kind.ts'
export { parseAddress, type Reachable, type Target, targetOf } from './client/target.ts'
export {
  ALP_VERSION,
  type ResponseBody,
  Scribe,
  STREAM_MARKS,
  type StreamMark,
  type WireError,
} from './envelope/envelope.ts'
export { ReplayJournal, type ReplayJournalOptions } from './envelope/replay-journal.ts'
export type { ReplayLimits } from './envelope/replay-memory.ts'
export { type ExpectedResponse, type ResponseVerdict, readResponse } from './envelope/response.ts'
export { readTs, writeTs } from './envelope/timestamp.ts'
export {
  DROP_REASONS,
  type DropReason,
  type Message,
  type ReplayGuard,
  type Verdict,
  type VerifyContext,
  verifyMessage,
} from './envelope/verify.ts'
export {
  dispatchErrors,
  LOCAL_SYMBOLS,
  type LocalSymbol,
  localError,
  RATE_WINDOW_SECONDS,
  readWireError,
  symbolOf,
  WIRE_CODES,
  type WireErrorName,
  wireError,
} from './errors.ts'
export { WatchedFile, type WatchedOptions } from './files/watched.ts'
export { x25519Image } from './identity/curve.ts'
export { linkPaths, loadIdentity, localIdentity } from './identity/files.ts'
export { fingerprintOf, spokenFingerprintOf } from './identity/fingerprint.ts'
export {
  identityFromPem,
  identityFromSeed,
  type KeyPair,
  type LinkIdentity,
  publicKeyOf,
} from './identity/identity.ts'
export { alpiLayout, isProfileName, localSocket, type ProfileLayout, parleyLayout } from './identity/local.ts'
export { parseText, parseWire } from './json/parse.ts'
export {
  Float,
  float,
  integerOf,
  isWireObject,
  numberOf,
  type WireObject,
  type WireValue,
} from './json/value.ts'
export { asciiText, canonicalBytes, canonicalText, pythonFloat, wireText } from './json/write.ts'
export { linkDefaults, linkLimits } from './limits.ts'
export { type Mention, mentionsIn, parseMention } from './mention.ts'
export { CipherState } from './noise/cipher.ts'
export { type HandshakeOptions, Initiator, Responder, type Session } from './noise/handshake.ts'
export { type Invitation, readInvitation, writeInvitation } from './peers/invitation.ts'
export { ACCEPTED_METHODS, isAllowed, isOperation, isPeerId, type NewPeer, type Peer } from './peers/peer.ts'
export { PeerList, type PeerListOptions } from './peers/peer-list.ts'
export { type PendingOptions, type PendingPeer, PendingPeers } from './peers/pending.ts'
export { ALP_ORIGIN, isPeer, peerPrincipal } from './peers/principal.ts'
export type { ConversationOptions, LinkLog, Pins } from './server/conversation.ts'
export { type LinkConfig, type ListenPlan, planListening, type Surroundings } from './server/plan.ts'
export type { LinkConnection, LinkHandler, LinkRequest, Reply, StreamPart } from './server/request.ts'
export { LinkServer, type LinkServerOptions } from './server/server.ts'
export { type Method, type MethodCall, MethodTable } from './service/methods.ts'
export { RateLimit } from './service/rate-limit.ts'
export { LinkService, type LinkServiceOptions } from './service/service.ts'
export { Threads, type ThreadsOptions } from './service/threads.ts'
export { isSpace, trim, trimLeft, trimRight } from './text.ts'
export { CARRIERS, type Carrier, type Channel, noiseChannel } from './transport/channel.ts'
export { NoiseSocket } from './transport/handshake-io.ts'
export type { Arrival, Listening } from './transport/listen.ts'
export { type ListenNoiseOptions, listenNoise, type NoiseArrival } from './transport/listen-noise.ts'
