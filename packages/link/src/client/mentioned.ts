// A text that a person typed, if it is for a peer (ALP-MENTION-04): it goes straight to that peer, and no model of ours
// sees it.
import type { ParleyError, Result } from '@parley/core'
import type { ProfileLayout } from '../identity/local.ts'
import { parseMention } from '../mention.ts'
import type { PeerList } from '../peers/peer-list.ts'
import { type Target, targetOf } from './target.ts'

export interface Mentioned {
  readonly peerId: string
  readonly prompt: string
  readonly target: Result<Target, ParleyError>
}

/** Whom to ask and what; undefined for ordinary text. */
export function mentioned(text: string, peers: PeerList, layouts: readonly ProfileLayout[]): Mentioned | undefined {
  const all = peers.all()
  const found = parseMention(text, new Set(all.map(({ id }) => id)))
  const peer = found && all.find(({ id }) => id === found.peerId)
  return peer && found && { ...found, target: targetOf(peer, layouts) }
}
