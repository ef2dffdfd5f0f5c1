// A text that begins with, or has in it, the name of a pinned peer (ALP-MENTION-03, -04): it is for that peer, and no
// agent of ours sees it.
import type { Context } from '../../command.ts'
import { asFailure } from '../../failure.ts'
import type { NodeClient } from '../../node/client.ts'
import { remark } from '../../output.ts'

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
  const known = await pinned(api)
  const found = parseMention(text, known)
  // Ordinary text, as the protocol has it (ALP-MENTION-04), but most likely not what was meant.
  if (!found && text.startsWith('@')) {
    const peers = known.size === 0 ? 'no peer is pinned' : `pinned: ${[...known].join(', ')}`
    const [name] = /^@[\w-]+/.exec(text) ?? ['@']
    remark(context, `${name} is no pinned peer (${peers}): this becomes a run here.`)
  }
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
