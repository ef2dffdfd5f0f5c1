// The public names of @parley/link.
export { LedgerFile, openLedger } from './budget/ledger-file.ts'
export { type CallTarget, dialCall } from './call/dial-call.ts'
export { listenCall } from './call/listen-call.ts'
export { ask, cancelAsk, giveUp, ping } from './client/calls.ts'
export { LinkClient } from './client/client.ts'
export { dialNoise } from './client/dial.ts'
export type { LinkFailure } from './client/exchange.ts'
export { type PeerHost, type PeerPlace, peerKind } from './client/peer-kind.ts'
export { parseAddress, type Target, targetOf } from './client/target.ts'
export { ReplayJournal } from './envelope/replay-journal.ts'
export { WatchedFile } from './files/watched.ts'
export { x25519Image } from './identity/curve.ts'
export { linkPaths, loadIdentity } from './identity/files.ts'
export {
  fingerprintOf,
  identityFromSeed,
  type LinkIdentity,
  publicKeyOf,
  spokenFingerprintOf,
} from './identity/identity.ts'
export { alpiLayout, parleyLayout } from './identity/local.ts'
export type { WireObject } from './json/value.ts'
export { wireText } from './json/write.ts'
export { linkDefaults, linkLimits } from './limits.ts'
export { parseMention } from './mention.ts'
export { Initiator } from './noise/handshake.ts'
export { readInvitation, writeInvitation } from './peers/invitation.ts'
export { ACCEPTED_METHODS, isPeerId, type NewPeer, type Peer } from './peers/peer.ts'
export { PeerList } from './peers/peer-list.ts'
export { type PendingPeer, PendingPeers } from './peers/pending.ts'
export { ALP_ORIGIN, isPeer, peerPrincipal } from './peers/principal.ts'
export type { LinkLog, Pins } from './server/conversation.ts'
export { type ListenPlan, planListening } from './server/plan.ts'
export { LinkServer } from './server/server.ts'
export { LinkService } from './service/service.ts'
export type { Carrier } from './transport/channel.ts'
