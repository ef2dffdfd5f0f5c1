// The OpenAPI 3.1 document of what is mounted: the node's own routes, the operations of the registry from their
// schemas, and what plugins bring.
import type { OperationRegistry } from '@parley/call'
import { NODE_VERSION } from '../version.ts'
import type { OpenApiPart } from './mount.ts'
import { OPERATIONS_SCOPE } from './operations.ts'

type Json = Readonly<Record<string, unknown>>

const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` })
const content = (schema: unknown, type = 'application/json') => ({ [type]: { schema } })
const OPEN = { security: [] }

const REFUSED = { $ref: '#/components/responses/Refusal' }

const SCHEMAS = {
  CallError: {
    type: 'object',
    required: ['code', 'message', 'retryable'],
    properties: {
      code: { type: 'string', description: 'Stable; what programs branch on' },
      message: { type: 'string' },
      retryable: { type: 'boolean' },
      details: {},
    },
  },
  Failure: {
    type: 'object',
    description: 'The response envelope of the call protocol, of a request that failed',
    required: ['requestId', 'result'],
    properties: {
      requestId: { type: 'string', description: 'Also in the header x-correlation-id, and in the log' },
      result: {
        type: 'object',
        required: ['ok', 'error'],
        properties: { ok: { const: false }, error: ref('CallError') },
      },
    },
  },
} as const

const RESPONSES = {
  Refusal: { description: 'Refused or failed', content: content(ref('Failure')) },
} as const

const state = (statuses: readonly string[]) => ({
  type: 'object',
  required: ['status'],
  properties: { status: { enum: statuses }, reason: { type: 'string' } },
})

const OWN_PATHS: Readonly<Record<string, Json>> = {
  '/healthz': {
    get: {
      operationId: 'healthz',
      tags: ['node'],
      summary: 'Whether the process answers',
      ...OPEN,
      responses: { 200: { description: 'It does', content: content(state(['ok'])) }, default: REFUSED },
    },
  },
  '/readyz': {
    get: {
      operationId: 'readyz',
      tags: ['node'],
      summary: 'Whether the node takes on work',
      ...OPEN,
      responses: {
        200: { description: 'It does', content: content(state(['ready'])) },
        503: { description: 'It does not; `reason` says why', content: content(state(['not_ready'])) },
        default: REFUSED,
      },
    },
  },
  '/metrics': {
    get: {
      operationId: 'metrics',
      tags: ['node'],
      summary: 'Metrics for Prometheus',
      description: 'Needs the scope `read`.',
      responses: {
        200: { description: 'Text in the format of Prometheus', content: content({ type: 'string' }, 'text/plain') },
        default: REFUSED,
      },
    },
  },
  '/openapi.json': {
    get: {
      operationId: 'openapi',
      tags: ['node'],
      summary: 'This document',
      ...OPEN,
      responses: { 200: { description: 'OpenAPI 3.1', content: content({ type: 'object' }) }, default: REFUSED },
    },
  },
}

export function openApiDocument(registry: OperationRegistry, parts: readonly OpenApiPart[]): object {
  const operations = registry.list().filter(({ external, handler }) => external && handler)
  const services = [...new Set(operations.map(({ namespace }) => namespace))]
  return plain({
    openapi: '3.1.0',
    info: {
      title: 'Parley',
      version: NODE_VERSION,
      description: 'The HTTP surface of a Parley node. Send a token as `Authorization: Bearer …`.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    security: [{ bearer: [] }],
    tags: [...parts.flatMap(({ tags = [] }) => tags), ...[...new Set(['node', ...services])].map(name => ({ name }))],
    paths: {
      ...OWN_PATHS,
      ...Object.assign({}, ...parts.map(({ paths }) => paths)),
      ...Object.fromEntries(operations.map(each => [`/v1${each.path}`, operationPath(each)])),
    },
    components: {
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'A token of `parley token create`' },
      },
      schemas: { ...SCHEMAS, ...Object.assign({}, ...parts.map(({ schemas }) => schemas)) },
      responses: RESPONSES,
    },
  })
}

type Registered = ReturnType<OperationRegistry['list']>[number]

function operationPath({ namespace, path, spec, stream, codes }: Registered): Json {
  const { description = '', inputSchema, outputSchema, accessControl } = spec
  const scopes = [...(accessControl.requiredScopes ?? []), ...(accessControl.requiredScopesAny ?? [])]
  const needs = `Needs the scope \`${OPERATIONS_SCOPE}\`${scopes.length > 0 ? `, and of the caller: ${scopes.join(' or ')}` : ''}.`
  const refuses = codes.length > 0 ? ` Refuses with: ${codes.join(', ')}.` : ''
  return {
    post: {
      operationId: path.slice(1).replace('/', '.'),
      tags: [namespace],
      summary: description.split(/(?<=\.) /, 1)[0],
      description: `${description} ${needs}${refuses}`.trim(),
      requestBody: { required: false, content: content(inputSchema) },
      responses: {
        200: stream ? events(outputSchema) : { description: 'The answer', content: content(success(outputSchema)) },
        default: REFUSED,
      },
    },
  }
}

function success(value: unknown): Json {
  return {
    type: 'object',
    required: ['requestId', 'result'],
    properties: {
      requestId: { type: 'string' },
      result: { type: 'object', required: ['ok', 'value'], properties: { ok: { const: true }, value } },
    },
  }
}

/** OpenAPI 3.1 has no word for the shape of an event: the schema is that of the data of `value`. */
function events(value: unknown): Json {
  return {
    description:
      'Server-sent events: `value` with the data described here and, where there is one, a cursor as its id; at the end `completed`, or `error` with a failure. A stream continues behind the id in the header Last-Event-ID.',
    content: content(value, 'text/event-stream'),
  }
}

/** Schemas carry marks of the library that makes them, which are not for others. */
function plain(value: object): object {
  return JSON.parse(JSON.stringify(value)) as object
}
