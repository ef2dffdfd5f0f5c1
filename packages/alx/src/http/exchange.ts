// One request and the one function that writes its answer (WG-02, WG-08): every body of every route passes through it.
import { ALX_PROTOCOL_VERSION, limits, type ProtocolInfo } from '@alx/protocol'
import { type IdSource, invariant } from '@parley/core'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Answer } from '../server/answer.ts'
import type { Caller } from '../server/host.ts'

const CORRELATION_ID = new RegExp(`^[A-Za-z0-9._:-]{1,${limits.correlationIdLength}}$`)

export interface Exchange {
  readonly correlationId: string
  caller: Caller | undefined
  /** Of the solve route, whose refusals say `success: false` too (ALX-SOLVE-04). */
  solves?: boolean
}

const GENERATED = /^req_[0-9A-Za-z]{16,}$/

/** ALX-ENV-04: the caller's id where it has the form, else one of our own: that of the host, if its log has one. */
export function exchangeOf({ headers, id }: FastifyRequest, ids: IdSource): Exchange {
  const given = headers['x-correlation-id']
  const fits = typeof given === 'string' && CORRELATION_ID.test(given)
  return { correlationId: fits ? given : GENERATED.test(id) ? id : ids.next('req'), caller: undefined }
}

/** ALX-HTTP-03. */
export function commonHeaders({ correlationId }: Exchange): Readonly<Record<string, string>> {
  return {
    'x-correlation-id': correlationId,
    'x-alx-protocol-version': ALX_PROTOCOL_VERSION,
    'cache-control': 'no-store',
  }
}

export function write(reply: FastifyReply, exchange: Exchange, protocol: ProtocolInfo, answer: Answer): FastifyReply {
  const { status, headers = {} } = answer
  return reply
    .code(status)
    .headers({ ...commonHeaders(exchange), ...headers, 'content-type': 'application/json; charset=utf-8' })
    .send(JSON.stringify(enveloped(exchange, protocol, answer)))
}

/** `ok` follows from the error alone, and the status must agree (ALX-HTTP-05). */
export function enveloped(exchange: Exchange, protocol: ProtocolInfo, { status, body }: Answer): object {
  const { correlationId, solves = false } = exchange
  const ok = body.error === undefined
  invariant(ok === status < 400, 'the status of an answer agrees with its body')
  return { ...(solves && { success: ok }), ...body, ok, correlationId, protocol }
}
