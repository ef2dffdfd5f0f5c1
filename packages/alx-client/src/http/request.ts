// One request as `fetch` takes it (ALX-HTTP-01, -03, ALX-ENV-04, -05).
import { ALX_PROTOCOL_VERSION, type Route } from '@alx/protocol'

/** What every call takes. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined
  /** Letters, digits and `._:-`, at most 128: the server's logs and events name it. */
  readonly correlationId?: string | undefined
}

export interface Call extends CallOptions {
  readonly route: Route
  /** The members of the route's path. */
  readonly path?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string | number | undefined>>
  readonly body?: object
  /** ALX-SDK-08: a POST that may be sent again has one. */
  readonly idempotencyKey?: string
  /** Answered by an event stream, from the event after this one on. */
  readonly streamAfter?: number
}

export interface Target {
  readonly base: string
  readonly token: string | undefined
}

const CORRELATION_ID = /^[A-Za-z0-9._:-]{1,128}$/

/** Where requests go. Refuses a base that would put a secret into messages, or lose a part. */
export function targetOf(baseUrl: string, token?: string): Target {
  const base = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined
  if (!base || !/^https?:$/.test(base.protocol))
    throw new TypeError('baseUrl must be an absolute http or https URL, such as https://example.org/alx')
  if (base.username || base.password)
    throw new TypeError('baseUrl must not contain a user name or a password; pass credentials as token')
  if (base.search || base.hash) throw new TypeError('baseUrl must not have a query or a fragment')
  // Anything else would be quoted in the error of the platform's `Headers`.
  if (token !== undefined && !/^[\x21-\x7e]+$/.test(token))
    throw new TypeError('token must be a non-empty string of visible ASCII characters, without spaces')
  return { base: base.href.replace(/\/+$/, ''), token }
}

/** Names a request in messages: never with its headers or its query. */
export function nameOf({ route, path }: Call): string {
  return `${route.method} ${pathOf(route, path)}`
}

export function requestOf({ base, token }: Target, call: Call): { url: string; init: RequestInit } {
  const { route, path, query = {}, body, correlationId, streamAfter } = call
  const given = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]))
  const search = given.length > 0 ? `?${new URLSearchParams(given)}` : ''
  if (correlationId !== undefined && !CORRELATION_ID.test(correlationId))
    throw new TypeError('correlationId must be 1 to 128 letters, digits or ._:-')
  const headers: Record<string, string> = {
    accept: streamAfter === undefined ? 'application/json' : 'text/event-stream',
    ...(body ? { 'content-type': 'application/json' } : { 'x-alx-protocol-version': ALX_PROTOCOL_VERSION }),
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
    ...(correlationId !== undefined && { 'x-correlation-id': correlationId }),
    ...(streamAfter !== undefined && streamAfter > 0 && { 'last-event-id': String(streamAfter) }),
  }
  const offer = { protocol: { protocol_version: ALX_PROTOCOL_VERSION } }
  return {
    url: base + pathOf(route, path) + search,
    // No route redirects, and a credential must not go where the caller did not send it.
    init: {
      method: route.method,
      headers,
      redirect: 'error',
      ...(body && { body: JSON.stringify({ ...offer, ...body }) }),
    },
  }
}

function pathOf({ path }: Route, members: Call['path'] = {}): string {
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = members[name]
    // A URL resolves dots, also encoded ones: they would name another route.
    if (typeof value !== 'string' || /^\.{0,2}$/.test(value)) throw new TypeError(`${name} must be an identifier`)
    return encodeURIComponent(value)
  })
}
