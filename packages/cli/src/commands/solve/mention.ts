// A text that begins with, or has in it, the name of a pinned peer (ALP-MENTION-03, -04): it is for that peer, and no
// agent of ours sees it.
import type { Context } from '../../command.ts'
import { asFailure } from '../../failure.ts'
import type { NodeClient } from '../../node/client.ts'

export interface Mentioned {
  readonly api: NodeClient
  readonly peer: string
  readonly prompt: string
}

/** Undefined for ordinary text. The node is asked only if the text mentions somebody. */
export async function mentionedPeer(context: Context, text: string): Promise<Mentioned | undefined> {
  // Inside a turn nobody but the owner may ask a peer.
  if (!text.includes('@') || context.env.PARLEY_TOKEN_FILE) return undefined
  const { parseMention } = await import('@parley/node')
  if (!parseMention(text)) return undefined
  const api = await context.connect({ create: true })
  const found = parseMention(text, await pinned(api))
  return found && { api, peer: found.peerId, prompt: found.prompt }
}

async function pinned(api: NodeClient): Promise<ReadonlySet<string>> {
  try {
    return new Set((await api.peers.list({})).peers.map(({ id }) => id))
  } catch (thrown) {
    // A profile that has no link has no peers.
    if (asFailure(thrown).code === 'link_off') return new Set()
    throw thrown
  }
}
