// Why an agent cannot work, whatever its task: what the service behind it answers, as a value in the details of the
// error that ends the turn.
import { isTimestamp, type ParleyError, type Timestamp } from '@parley/core'

export const outageReasons = ['account', 'credit', 'quota', 'overloaded', 'service'] as const
export type OutageReason = (typeof outageReasons)[number]

export interface Outage {
  readonly reason: OutageReason
  /** Of HTTP, where the program tells it. */
  readonly status?: number
  /** The service said that it does not work before. */
  readonly until?: Timestamp
}

/** What a program tells of one answer of its service. */
export interface Refusal {
  /** Where the program has a name of its own for it. */
  readonly reason?: OutageReason | undefined
  readonly status?: number | undefined
  readonly message?: string | undefined
  /** When it works again: seconds or milliseconds since 1970, as different versions write them. */
  readonly resetsAt?: unknown
  /** The program tries again by itself. */
  readonly retry?: {
    readonly attempt?: number | undefined
    readonly of?: number | undefined
    readonly delayMs?: number | undefined
  }
}

const WORDS: { readonly [Reason in OutageReason]: string } = {
  account: 'it is not logged in',
  credit: 'it has no credit left',
  quota: 'it has no quota left',
  overloaded: 'its service is overloaded',
  service: 'its service fails',
}

/** `it has no quota left (429) until 2026-11-19 17:30 UTC`. */
export function outageText({ reason, status, until }: Outage): string {
  const code = status === undefined ? '' : ` (${status})`
  const end = until === undefined ? '' : ` until ${until.slice(0, 16).replace('T', ' ')} UTC`
  return `${WORDS[reason]}${code}${end}`
}

/** `The API refuses: 401, it is not logged in; retry 3 of 10 in 25 s.` */
export function refusalText({ status, message, retry }: Refusal, reason: OutageReason | undefined): string {
  const what = [status, reason === undefined ? message : WORDS[reason]].filter(each => each !== undefined).join(', ')
  const { attempt = '', of, delayMs = 0 } = retry ?? {}
  const wait = delayMs < 1000 ? '' : ` in ${Math.ceil(delayMs / 1000)} s`
  const again = retry && `; retry ${attempt}${of === undefined ? '' : ` of ${of}`}${wait}`
  return `The API refuses: ${what || 'no reason given'}${again ?? ''}.`
}

export function reasonOfStatus(status: number | undefined): OutageReason | undefined {
  switch (status) {
    case 401:
    case 403:
      return 'account'
    case 402:
      return 'credit'
    case 429:
      return 'quota'
    case 503:
    case 529:
      return 'overloaded'
    case 500:
    case 502:
    case 504:
      return 'service'
    default:
      return undefined
  }
}

/** Of an error that ended a turn: what its adapter found out about the agent. */
export function outageIn({ details: { outage } }: ParleyError): Outage | undefined {
  if (typeof outage !== 'object' || outage === null) return undefined
  const { reason, status, until } = outage as { readonly [Field in keyof Outage]?: unknown }
  const known = outageReasons.find(each => each === reason)
  if (known === undefined) return undefined
  return {
    reason: known,
    ...(typeof status === 'number' && { status }),
    ...(isTimestamp(until) && { until }),
  }
}
