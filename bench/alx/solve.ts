// The solve that every round asks for, and the fixed answer of the bare servers, which is about as long as a solve's.
import { ALX_PROTOCOL_VERSION, ROUTES } from '@alx/protocol'
import { cut, type RequestShape, requestHeaders } from './request.ts'

/** The intent's domain decides what a solve takes: a block that is there, or the team of one agent. */
export const DOMAINS = { block: 'bench.blocks', agent: 'bench.agent', events: 'bench.events' } as const

export const INTENT = { verb: 'explain', target: 'restoring backups' } as const

/** As `fetch` of Node sends them; a server that does not ask for a token gets none. */
function headers(accept: string, token: string | undefined): RequestShape['headers'] {
  return requestHeaders({
    accept,
    'accept-encoding': 'gzip, deflate',
    'accept-language': '*',
    'content-type': 'application/json',
    'sec-fetch-mode': 'cors',
    'user-agent': 'node',
    authorization: token && `Bearer ${token}`,
  })
}

/** Where the node serves ALX. */
const PREFIX = '/alx'

/** As `@parley/alx-client` asks: a key for each solve, and no session, so each is a run in a session of its own. */
export function solveRequest(
  port: number,
  domain: string,
  { path = `${PREFIX}${ROUTES.solve.path}`, token }: { readonly path?: string; readonly token?: string } = {},
): RequestShape {
  const protocol = { protocol_version: ALX_PROTOCOL_VERSION }
  const body = { protocol, intent: { ...INTENT, domain }, options: { idempotencyKey: '' } }
  return {
    port,
    method: 'POST',
    path,
    headers: headers('application/json', token),
    ...cut(JSON.stringify(body), { idempotencyKey: 'uuid' }),
    expects: '"status":"completed"',
  }
}

export function registration(port: number, token: string, envelope: object): RequestShape {
  const body = [JSON.stringify({ envelope })]
  return { ...solveRequest(port, '', { path: `${PREFIX}${ROUTES.registerKb.path}`, token }), body, ids: [] }
}

export function runEventsPath(executionId: string): string {
  return `${PREFIX}${ROUTES.runEvents.path.replace('{executionId}', executionId)}`
}

export function eventsRequest(port: number, path: string, token?: string): RequestShape {
  return { port, method: 'GET', path, headers: headers('text/event-stream', token), body: [''], ids: [], expects: '' }
}

export const FIXED = {
  ok: true,
  correlationId: 'req_01JCZ7Q5X8M2N4P6R8T0V2W4Y6',
  protocol: { protocol_version: '1.1', capabilities: ['solve', 'runs', 'sessions', 'timeline', 'kb', 'feedback'] },
  success: true,
  executionId: '01JCZ7Q5X8M2N4P6R8T0V2W4Y6',
  artifact: {
    artifactId: '0x25cde9b360a9ac2c66038ab2bf6a311b2fe6da4d277d004b94f5ded4d371b0bc',
    kbHash: '0x25cde9b360a9ac2c66038ab2bf6a311b2fe6da4d277d004b94f5ded4d371b0bc',
    kbId: null,
    type: 'practice',
    domain: DOMAINS.block,
    tier: 'open',
    sources: [],
    origin: 'selected',
    payload: {
      type: 'practice',
      rationale: 'Restore a backup every month.',
      contexts: ['restoring backups'],
      failureModes: [],
    },
  },
  result: 'Restore a backup every month.',
  confidence: 0.9,
  execution: {
    executionId: '01JCZ7Q5X8M2N4P6R8T0V2W4Y6',
    sessionId: 'ses_01JCZ7Q5X8M2N4P6R8T0V2W4Y7',
    status: 'completed',
    startedAt: '2026-11-19T10:00:00.000Z',
    finishedAt: '2026-11-19T10:00:00.003Z',
    durationMs: 3,
    dryRun: false,
    forced: false,
    attempt: 0,
  },
  steps: [],
  learning: { eligible: true, feedbackId: null, recordedAt: null, improvement: null },
} as const
