// Why a peer did not do what it was asked, for a person. A refusal is told in the peer's own words (ALP-ERR-01);
// silence has few causes, and all are named.
import { asFailure, Failure, isRecord } from '../../failure.ts'
import { money } from '../../render/format.ts'
import { oneLine } from '../../render/text.ts'

interface Said {
  readonly what: string
  readonly why?: string | undefined
  readonly next: string | readonly string[]
}

type Data = Readonly<Record<string, unknown>>

export function peerFailure(
  peer: string,
  thrown: unknown,
  { begun = false }: { readonly begun?: boolean } = {},
): Failure {
  const failure = asFailure(thrown)
  const { code, details, message } = failure
  const name = oneLine(peer)
  const lost = begun && code === 'link_empty_response'
  const tell = lost ? LOST_WHILE_ANSWERING : ON_THE_WAY[code]
  const said = code === 'peer_refused' ? refusal(name, details) : tell?.(name, message)
  if (!said) return failure
  const { what, why, next } = said
  return new Failure(code, what, { why, next, details: { peer, ...details }, cause: thrown })
}

export function fromPeer<T>(peer: string, asked: Promise<T>): Promise<T> {
  return asked.catch(thrown => {
    throw peerFailure(peer, thrown)
  })
}

type Telling = (peer: string, message: string) => Said

const ON_THE_WAY: Readonly<Record<string, Telling>> = {
  unknown_peer: peer => ({
    what: `No peer is pinned as '${peer}'.`,
    next: '`parley peers` lists the pinned peers; `parley peers add` pins one with the line that its owner sent.',
  }),
  link_off: peer => ({
    what: `${peer} cannot be called: this profile has no link.`,
    why: '`service.alp` is false in its config.yaml.',
    next: 'Set it to true, or remove it, and start the node again.',
  }),
  'target-offline': (peer, message) => ({
    what: `${peer} is offline.`,
    why: message.replace(/^target-offline: /, ''),
    next: [
      `Is a node running there (\`parley up\`), and is the address right (\`parley peers list ${peer}\`)?`,
      'Firewalls in between must let the port through.',
    ],
  }),
  link_bad_address: (peer, message) => ({
    what: `The address of ${peer} is not known.`,
    why: message,
    next: `parley peers remove ${peer}, then add it again with --address HOST:PORT`,
  }),
  link_handshake_failed: peer => ({
    what: `The key of the peer at the address of ${peer} does not match the pinned key.`,
    why: 'Its key was replaced, the address now belongs to somebody else, or ALP is not spoken there.',
    next: [
      `Ask the owner of ${peer} for the line of \`parley id\`, and compare the digits aloud.`,
      `If it has a new key: parley peers remove ${peer}, then parley peers add with the new line.`,
    ],
  }),
  link_handshake_timeout: peer => ({
    what: `${peer} did not answer in time.`,
    why: 'The connection was accepted but the handshake did not finish: its node hangs or is overloaded, or ALP is not spoken there.',
    next: `Try again later: parley ping ${peer}. Is the address right (\`parley peers list ${peer}\`)?`,
  }),
  link_timeout: peer => ({
    what: `${peer} did not answer in time.`,
    why: 'It is slow, or the connection was lost. A turn that it has started ends when it notices that nobody is listening.',
    next: `parley ping ${peer} tells whether it is online; --timeout 30m waits longer.`,
  }),
  link_bad_response: (peer, message) => ({
    what: `${peer} sent an invalid answer.`,
    why: message,
    next: `Which version runs there? parley ping ${peer} tells which version it speaks.`,
  }),
  link_too_large: (peer, message) => ({
    what: `This is too large for ${peer}.`,
    why: message,
    next: 'Ask for less at a time.',
  }),
  link_cancelled: peer => ({ what: `The call to ${peer} was cancelled.`, next: 'Ask again.' }),
  link_empty_response: peer => ({
    what: `${peer} closed the connection without an answer.`,
    why: 'Most likely it has not pinned your key: strangers get silence. Or the clocks differ by more than two minutes, or it was just stopped.',
    next: [
      `Send its owner the line of \`parley id\`. They can also see you in \`parley peers pending\`.`,
      'Compare `date -u` on both machines.',
    ],
  }),
}

const LOST_WHILE_ANSWERING: Telling = peer => ({
  what: `The connection to ${peer} was lost while it was answering.`,
  why: 'Its node stopped or crashed, or the connection broke. The answer so far is incomplete.',
  next: `Try again when it is back: parley ping ${peer}`,
})

/** Several refusals share a code, so the message tells them apart. */
const REFUSALS: Readonly<Record<string, (peer: string, data: Data) => Said>> = {
  'target-busy': peer => ({
    what: `${peer} is busy.`,
    why: 'A profile answers one peer at a time, without a queue.',
    next: 'Try again later.',
  }),
  'capability-denied': (peer, data) => ({
    what: `${peer} does not allow you to do this${typeof data.method === 'string' ? ` (${oneLine(data.method)})` : ''}.`,
    why: 'It has pinned you, but its owner has not allowed this.',
    next: 'Ask the owner to run: parley peers allow YOU link.ping link.ask link.cancel',
  }),
  'rate-limited': peer => ({
    what: `${peer} accepts no more calls from you in this minute.`,
    next: 'Wait a minute. Its owner sets the limit: rate_limit.per_minute in alp/peers.yaml.',
  }),
  'budget-exceeded': (peer, data) => ({
    what: `${peer} has reached its budget for today${spentOf(data)}.`,
    why: 'Its owner has set a daily budget, which resets at midnight UTC.',
    next: 'Ask again tomorrow, or ask the owner to raise budget.daily_usd.',
  }),
  'invalid-params': (peer, data) => ({
    what: `${peer} did not understand the request.`,
    why: detailOf(data),
    next: 'Phrase it differently.',
  }),
  'method-not-found': peer => ({
    what: `${peer} cannot do this.`,
    why: 'Its version of ALP does not know the method.',
    next: `parley ping ${peer} tells which version it speaks.`,
  }),
  'internal-error': (peer, data) => ({
    what: `${peer} failed while answering.`,
    why: detailOf(data),
    next: 'Ask again. Its owner finds the reason with `parley runs`.',
  }),
}

function refusal(peer: string, { code, message, data }: Data): Said {
  // Of the call protocol, whose codes are names.
  if (code === 'FORBIDDEN')
    return {
      what: `${peer} does not allow you to call this.`,
      why: 'It has pinned you, but its owner has not allowed this operation.',
      next: `parley call ${peer} /services/list shows what you may call; its owner allows more: parley peers allow YOU /runs/list`,
    }
  const said = typeof message === 'string' ? oneLine(message) : 'unknown'
  const more = isRecord(data) ? data : {}
  const known = Object.hasOwn(REFUSALS, said) ? REFUSALS[said] : undefined
  return known?.(peer, more) ?? { what: `${peer} refused: ${said}.`, why: detailOf(more), next: 'Ask its owner.' }
}

function detailOf({ detail }: Data): string | undefined {
  return typeof detail === 'string' ? oneLine(detail) : undefined
}

function spentOf({ cap, used }: Data): string {
  return typeof cap === 'number' && typeof used === 'number' ? `: ${money(used)} of ${money(cap)}` : ''
}
