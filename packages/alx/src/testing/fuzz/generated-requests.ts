// Requests made from the OpenAPI document of ALX: sound ones, ones with one fault of which the answer is known, and
// ones with any number of faults. The same seed and the same ids give the same request.
import type { ErrorCode } from '@alx/protocol'
import { factual } from '../known-blocks.ts'
import { ALL_FAULTS, FAULTS } from './faults.ts'
import { below, fitting, type Meanings, pick, type Random, seededRandom } from './garbage.ts'
import {
  type Draft,
  type Fault,
  type Ids,
  type Known,
  OPERATIONS,
  type Operation,
  resolved,
  SECRET,
  VERBS,
} from './operations.ts'

export interface GeneratedRequest {
  readonly operation: Operation
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string | readonly string[]>>
  readonly body: Buffer | undefined
  /** `undefined`: anything may come of it. `sound`: anything but that its form is refused. */
  readonly expected: readonly ErrorCode[] | 'sound' | undefined
  readonly faults: readonly string[]
}

export function generatedRequest(seed: number, known: Known): GeneratedRequest {
  const random = seededRandom(seed)
  const operation = pick(random, OPERATIONS)
  const draft = soundDraft(random, operation, known.own)
  const kind = random()
  const context = { random, operation, known }
  const faults: Fault[] = []
  if (kind > 0.7) for (let times = 1 + below(random, 4); times > 0; times--) faults.push(pick(random, ALL_FAULTS))
  else if (kind > 0.25)
    faults.push(
      pick(
        random,
        FAULTS.filter(({ fits }) => fits?.(draft, context) ?? true),
      ),
    )
  let expected: GeneratedRequest['expected'] = kind > 0.7 ? undefined : 'sound'
  for (const { apply } of faults) {
    const codes = apply(draft, context)
    if (kind <= 0.7) expected = codes
  }
  const { method, headers } = draft
  const body = draft.raw ?? (draft.body === undefined ? undefined : Buffer.from(JSON.stringify(draft.body)))
  const length = body && { 'content-length': String(body.length) }
  const named = faults.map(({ name }) => name)
  return { operation, method, path: pathOf(draft), headers: { ...headers, ...length }, body, expected, faults: named }
}

function pathOf({ segments, query }: Draft): string {
  return `/alx${segments.join('/')}${query.length === 0 ? '' : `?${query.map(pair => pair.join('=')).join('&')}`}`
}

function soundDraft(random: Random, operation: Operation, ids: Ids): Draft {
  const meanings = meaningsOf(random, ids)
  const segments = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => String(meanings[name]!())).split('/')
  const query = Object.entries(operation.query).flatMap(([name, schema]): [string, string][] => {
    // A cursor comes from an answer; one that was made up is a fault.
    if (name === 'cursor' || random() < 0.6) return []
    const value = name === 'userId' ? 'U' : fitting(random, schema, resolved, {})
    return [[name, encodeURIComponent(String(value))]]
  })
  const headers: Record<string, string> = { authorization: 'Bearer U', cookie: SECRET, 'x-api-key': SECRET }
  if (random() < 0.3) headers['x-correlation-id'] = 'fuzz-1'
  if (random() < 0.2) headers['x-alx-protocol-version'] = '1.7'
  if (operation.name === 'runEvents' && random() < 0.3) headers['last-event-id'] = String(below(random, 9))
  if ((operation.name === 'runEvents' || operation.name === 'solve') && random() < 0.3)
    headers.accept = 'text/event-stream'
  if (operation.method === 'GET') return { method: 'GET', segments, query, headers, body: undefined }
  headers['content-type'] = pick(random, ['application/json', 'application/json; charset=utf-8'])
  const body = operation.body ? fitting(random, operation.body, resolved, meanings) : {}
  return { method: 'POST', segments, query, headers, body: body as Record<string, unknown> }
}

function meaningsOf(random: Random, { runs, sessions, approvals, blocks }: Ids): Meanings {
  const from = (all: readonly string[]) => () => pick(random, all)
  return {
    executionId: from(runs),
    sessionId: from(sessions),
    approvalId: from(approvals),
    kbHash: from(blocks),
    queryId: () => `q-${below(random, 40)}`,
    idempotencyKey: () => `k-${below(random, 40)}`,
    verb: from(VERBS),
    amount: () => pick(random, ['0', '100', '7']),
    meta: () => ({ userId: 'U', token: SECRET }),
    context: () => ({ password: SECRET, deep: { a: null } }),
    protocol: () => ({ protocol_version: pick(random, ['1.0', '1.1', '1.99']), capabilities: ['zz'] }),
    envelope: () => factual(`fuzz ${below(random, 200)}`),
    expectedKbHash: from(blocks),
    direction: from(['ancestors', 'descendants']),
  }
}
