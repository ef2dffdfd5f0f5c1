// Keys, peers and strangers as people see them: what two of them compare aloud stands on a line of its own, in full.
import type { Ticks } from '@parley/core'
import type { AnswerView, IdentityView, PeerView, PendingView } from '../node/views.ts'
import { ago, count, money } from './format.ts'
import { table } from './grid.ts'
import type { Drawing } from './tasks.ts'
import { oneLine } from './text.ts'

export function pinningLine(invitation: string): string {
  return `parley peers add ${invitation}`
}

export function identityLines({ profile, pubkey, fingerprint, spoken, listening }: IdentityView): readonly string[] {
  return facts([
    ['profile', profile],
    ['key', pubkey],
    ['fingerprint', fingerprint],
    ['aloud', spoken],
    ...(listening.length > 0
      ? listening.map(({ carrier, at }, index) => [index === 0 ? 'listens' : '', `${carrier} ${at}`] as const)
      : [['listens', 'nowhere'] as const]),
  ])
}

export function peersTable(peers: readonly PeerView[], drawing: Drawing): readonly string[] {
  return table(
    peers,
    [
      { header: 'PEER', of: ({ id }) => oneLine(id) },
      { header: 'ALIAS', flexible: true, optional: 3, of: ({ alias = '' }) => oneLine(alias) },
      { header: 'ADDRESS', flexible: true, optional: 2, of: addressOf },
      {
        header: 'MAY',
        flexible: true,
        optional: 1,
        of: peer => ({ text: mayOf(peer), ...(peer.allow.length === 0 && { tone: 'warning' }) }),
      },
      { header: 'RATE', align: 'right', optional: 4, of: ({ per_minute }) => `${per_minute}/min` },
      { header: 'TODAY', align: 'right', optional: 5, of: spentOf },
      { header: 'FINGERPRINT', optional: 6, of: ({ fingerprint }) => fingerprint },
    ],
    drawing,
  )
}

export function peerLines(peer: PeerView): readonly string[] {
  return facts([
    ['peer', peer.id],
    ['alias', peer.alias ?? ''],
    ['key', peer.pubkey],
    ['fingerprint', peer.fingerprint],
    ['aloud', peer.spoken],
    ['address', addressOf(peer)],
    ['may', mayOf(peer)],
    ['rate', `${peer.per_minute} calls a minute`],
    ['today', spentOf(peer)],
  ])
}

export function pendingLines(pending: readonly PendingView[], now: Ticks): readonly string[] {
  return pending.flatMap(({ pubkey, spoken, address, first_seen, last_seen }, index) => [
    ...(index > 0 ? [''] : []),
    ...facts([
      ['key', pubkey],
      ['aloud', spoken],
      ['from', address ?? 'this machine'],
      ['seen', `${ago(isoOf(last_seen), now)}, the first time ${ago(isoOf(first_seen), now)}`],
    ]),
  ])
}

/** `$0.02 · 1.2k tokens in, 300 out`. */
export function costLine({ usd, tokens_in, tokens_out }: AnswerView): string {
  return `${money(usd)} · ${count(tokens_in)} tokens in, ${count(tokens_out)} out`
}

function addressOf({ address }: PeerView): string {
  return address === undefined ? 'this machine' : oneLine(address)
}

function mayOf({ allow }: PeerView): string {
  return allow.length > 0 ? allow.map(oneLine).join(', ') : 'nothing'
}

function spentOf({ spent_today }: PeerView): string {
  if (!spent_today || (spent_today.usd === 0 && spent_today.tokens === 0)) return ''
  return `${money(spent_today.usd)}, ${count(spent_today.tokens)} tokens`
}

function facts(rows: readonly (readonly [string, string])[]): readonly string[] {
  const shown = rows.filter(([, value]) => value !== '')
  const left = Math.max(...shown.map(([name]) => name.length))
  return shown.map(([name, value]) => `${name.padEnd(left)}  ${oneLine(value)}`)
}

function isoOf(seconds: number): string {
  return new Date(seconds * 1000).toISOString()
}
