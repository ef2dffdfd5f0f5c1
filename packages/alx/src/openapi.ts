// ALX's part of an OpenAPI 3.1 document, made of the routes and schemas of the protocol (ALX-HTTP-01): whoever mounts
// the server adds it to the description of what it serves.
import {
  ALX_PROTOCOL_VERSION,
  ERRORS,
  jsonSchemas,
  limits,
  ROUTES,
  type Route,
  SESSION_STATUSES,
  SESSION_TIMELINE_EVENT_TYPES,
} from '@alx/protocol'

export interface AlxOpenApi {
  readonly tags: readonly { readonly name: string; readonly description: string }[]
  /** By whole path, the prefix included. */
  readonly paths: Readonly<Record<string, object>>
  /** For `#/components/schemas/`. */
  readonly schemas: Readonly<Record<string, unknown>>
}

const SCHEMAS = '#/components/schemas/'
const TAG = 'alx'

type RouteName = keyof typeof ROUTES

/** Those that stream when they are asked to. */
const STREAMS: readonly RouteName[] = ['solve', 'runEvents']

const SUMMARIES: Readonly<Record<RouteName, string>> = {
  protocol: 'Version and capabilities; needs no token',
  solve: 'Solve an intent',
  run: 'What a run came to, or how far it is',
  runEvents: 'The events of a run',
  approval: 'Decide an approval that a run waits for',
  feedback: 'Rate the result of a run',
  sessions: 'List sessions',
  session: 'The status of a session',
  timeline: 'What happened in a session',
  reset: 'Begin a session anew',
  fork: 'Continue a session in a copy',
  registerKb: 'Register a Knowledge Block',
  kb: 'A Knowledge Block',
  lineage: 'What a Knowledge Block was derived from',
  verifyKb: 'Verify a Knowledge Block',
  settle: 'Settle a query',
  settlement: 'A settlement',
}

const paged = {
  limit: { type: 'integer', minimum: 1, maximum: limits.pageSize, default: limits.defaultPageSize },
  cursor: { type: 'string' },
}

/** What a route reads of the query (ALX-RUN-07, ALX-SESS-07 to -09, ALX-KB-16). */
const QUERIES: Readonly<{ [name in RouteName]?: Readonly<Record<string, object>> }> = {
  runEvents: { afterSeq: { type: 'integer', minimum: 0, default: 0 } },
  sessions: { ...paged, status: { type: 'string', enum: SESSION_STATUSES }, userId: { type: 'string' } },
  timeline: { ...paged, type: { type: 'string', enum: SESSION_TIMELINE_EVENT_TYPES } },
  lineage: { direction: { type: 'string', enum: ['ancestors', 'descendants'], default: 'ancestors' } },
}

export function alxOpenApi(prefix: string): AlxOpenApi {
  const paths: Record<string, Record<string, object>> = {}
  for (const name of Object.keys(ROUTES) as RouteName[]) {
    const route: Route = ROUTES[name]
    paths[`${prefix}${route.path}`] ??= {}
    paths[`${prefix}${route.path}`]![route.method.toLowerCase()] = operation(name, route)
  }
  const description = `ALX protocol ${ALX_PROTOCOL_VERSION}. Every answer is an envelope; docs/protocol/PROTOCOL-SPEC.md.`
  return { tags: [{ name: TAG, description }], paths, schemas: jsonSchemas(SCHEMAS) }
}

function operation(name: RouteName, { path, takes, answers, capability }: Route): object {
  const members = [...path.matchAll(/\{(\w+)\}/g)].map(([, member]) => member!)
  return {
    operationId: `alx.${name}`,
    tags: [TAG],
    summary: SUMMARIES[name],
    ...(capability !== undefined && { description: `Needs the capability \`${capability}\` of the server.` }),
    ...(name === 'protocol' && { security: [] }),
    parameters: [
      ...members.map(member => ({ name: member, in: 'path', required: true, schema: { type: 'string' } })),
      ...Object.entries(QUERIES[name] ?? {}).map(([member, schema]) => ({
        name: member,
        in: 'query',
        required: false,
        schema,
      })),
      header('x-correlation-id', 'Comes back in the answer and in the log'),
      header('x-alx-protocol-version', 'For requests without a body'),
      ...(name === 'solve' ? [header('idempotency-key', 'The same key starts nothing a second time')] : []),
      ...(STREAMS.includes(name) ? [header('last-event-id', 'Continues a stream')] : []),
    ],
    ...(takes !== undefined && { requestBody: { required: true, content: json(takes) } }),
    responses: {
      '2XX': {
        description: 'Handled',
        content: { ...json(answers), ...(STREAMS.includes(name) && events()) },
      },
      ...Object.fromEntries(STATUSES.map(status => [status, failure(status)])),
      default: { description: 'Refused before a route was reached', content: json('ProtocolErrorEnvelope') },
    },
  }
}

function header(name: string, description: string): object {
  return { name, in: 'header', required: false, description, schema: { type: 'string' } }
}

const ref = (name: string) => ({ $ref: `${SCHEMAS}${name}` })
const json = (name: string) => ({ 'application/json': { schema: ref(name) } })
const events = () => ({ 'text/event-stream': { schema: ref('RunEvent') } })

const CODES = Object.entries(ERRORS)
const STATUSES = [...new Set(CODES.flatMap(([, { http }]) => [...http]))].toSorted((one, other) => one - other)

function failure(status: number): object {
  const codes = CODES.flatMap(([code, { http }]) => ((http as readonly number[]).includes(status) ? [code] : []))
  return { description: codes.join(', '), content: json('ProtocolErrorEnvelope') }
}
