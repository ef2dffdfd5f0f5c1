// Why a peer did not do what it was asked, as a person is told it: what happened, why that may be, what to do next. What the peer refused itself is
// told in its own words (ALP-ERR-01); silence has few causes, and all are named.
import { asFailure, Failure, type FailureOptions } from './failure.ts'
import { money } from './render/format.ts'
import { oneLine } from './render/text.ts'

interface Said {
  readonly what: string
  readonly why?: string
  readonly next: string | readonly string[]
}

/** `begun`: the peer had begun to answer. */
export function peerFailure(
  peer: string,
  thrown: unknown,
  { begun = false }: { readonly begun?: boolean } = {},
): Failure {
  const failure = asFailure(thrown)
  const { code, details, message } = failure
  const name = oneLine(peer)
  const said = code === 'peer_refused' ? refusal(name, details) : way(name, code, message, begun)
  if (!said) return failure
  const options: FailureOptions = { details: { peer, ...details }, cause: thrown, next: said.next }
  return new Failure(code, said.what, { ...options, ...(said.why && { why: said.why }) })
}

/** What happened on the way: nobody there, the wrong one there, silence. */
function way(peer: string, code: string, message: string, begun: boolean): Said | undefined {
  switch (code) {
    case 'unknown_peer':
      return {
        what: `Nobody is pinned as '${peer}'.`,
        next: '`parley peers` lists who is; `parley peers add` pins from the line that its owner sent.',
      }
    case 'link_off':
      return {
        what: `${peer} cannot be called: this profile has no link.`,
        why: '`service.alp` is false in its config.yaml.',
        next: 'Set it to true, or remove it, and start the node again.',
      }
    case 'target-offline':
      return {
        what: `${peer} is offline.`,
        why: message.replace(/^target-offline: /, ''),
        next: [
          `Is a node up there (\`parley up\`), and is the address right (\`parley peers list ${peer}\`)?`,
          'A firewall on the way must let the port through.',
        ],
      }
    case 'link_bad_address':
      return {
        what: `It is not known where ${peer} is.`,
        why: message,
        next: `parley peers remove ${peer}, then add it again with --address HOST:PORT`,
      }
    case 'link_handshake_failed':
      return {
        what: `Who answers at the address of ${peer} does not prove to be ${peer}.`,
        why: 'Its key was replaced, the address belongs to somebody else now, or no ALP is spoken there.',
        next: [
          `Ask the owner of ${peer} for the line of \`parley id\`, and compare the digits aloud.`,
          `If the key is a new one: parley peers remove ${peer}, then parley peers add with the new line.`,
        ],
      }
    case 'link_empty_response':
      return begun ? lostWhileAnswering(peer) : silence(peer)
    case 'link_timeout':
      return {
        what: `${peer} did not answer in time.`,
        why: 'It is slow, or the connection is lost. A turn that it has begun ends when it notices that nobody listens.',
        next: `parley ping ${peer} tells whether it is there; --timeout 30m waits longer.`,
      }
    case 'link_bad_response':
      return {
        what: `${peer} sent something that is no answer.`,
        why: message,
        next: `Which version runs there? parley ping ${peer} tells what it speaks.`,
      }
    case 'link_too_large':
      return { what: `This is too large for ${peer}.`, why: message, next: 'Ask for less at once.' }
    case 'link_cancelled':
      return { what: `The call to ${peer} was cancelled.`, next: 'Ask again.' }
    default:
      return undefined
  }
}

function silence(peer: string): Said {
  return {
    what: `${peer} closed the connection and said nothing.`,
    why: 'Most likely it has not pinned your key: strangers get silence. Or the clocks differ by more than two minutes, or it was just stopped.',
    next: [
      `Send its owner the line of \`parley id\`. They see you in \`parley peers pending\`, too.`,
      'Compare `date -u` on both machines.',
    ],
  }
}

function lostWhileAnswering(peer: string): Said {
  return {
    what: `${peer} was lost while it answered.`,
    why: 'Its node was stopped or died, or the connection broke. What came so far is not the whole answer.',
    next: `Ask again when it is back: parley ping ${peer}`,
  }
}

/** What the peer said itself. Several reasons share a code, so the message tells them apart. */
function refusal(peer: string, details: Readonly<Record<string, unknown>>): Said {
  const message = typeof details.message === 'string' ? oneLine(details.message) : 'unknown'
  const data = isRecord(details.data) ? details.data : {}
  const detail = typeof data.detail === 'string' ? oneLine(data.detail) : undefined
  // Of the call protocol, whose codes are names.
  if (details.code === 'FORBIDDEN')
    return {
      what: `${peer} does not let you call this.`,
      why: 'It has pinned you, and its owner has not allowed this operation.',
      next: `parley call ${peer} /services/list shows what you may call; its owner allows more: parley peers allow YOU /runs/list`,
    }
  switch (message) {
    case 'target-busy':
      return {
        what: `${peer} is busy.`,
        why: 'A profile answers one at a time, and keeps no queue.',
        next: 'Ask again in a while.',
      }
    case 'capability-denied':
      return {
        what: `${peer} does not let you do this${typeof data.method === 'string' ? ` (${oneLine(data.method)})` : ''}.`,
        why: 'It has pinned you, and its owner has not allowed it.',
        next: 'Ask the owner; there it is: parley peers allow YOU link.ping link.ask link.cancel',
      }
    case 'rate-limited':
      return {
        what: `${peer} takes no more calls of yours in this minute.`,
        next: 'Wait a minute. Its owner sets the limit: rate_limit.per_minute in alp/peers.yaml.',
      }
    case 'budget-exceeded':
      return {
        what: `${peer} has spent what it may spend today${spentOf(data)}.`,
        why: 'Its owner has set a daily budget, which begins anew at midnight UTC.',
        next: 'Ask again tomorrow, or ask the owner to raise budget.daily_usd.',
      }
    case 'invalid-params':
      return {
        what: `${peer} does not understand what it was asked.`,
        ...(detail !== undefined && { why: detail }),
        next: 'Say it differently.',
      }
    case 'method-not-found':
      return {
        what: `${peer} cannot do this.`,
        why: 'Its version of ALP does not know the method.',
        next: `parley ping ${peer} tells what it speaks.`,
      }
    case 'internal-error':
      return {
        what: `${peer} failed while it answered.`,
        ...(detail !== undefined && { why: detail }),
        next: 'Ask again. Its owner finds the reason with `parley runs`.',
      }
    default:
      return {
        what: `${peer} refused: ${message}.`,
        ...(detail !== undefined && { why: detail }),
        next: 'Ask its owner.',
      }
  }
}

function spentOf({ cap, used }: Readonly<Record<string, unknown>>): string {
  return typeof cap === 'number' && typeof used === 'number' ? `: ${money(used)} of ${money(cap)}` : ''
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
