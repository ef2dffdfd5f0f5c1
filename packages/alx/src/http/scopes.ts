// What a caller must be allowed to do for each route (ALX-HTTP-04). The scope `approve` is nobody's by default, so
// that a program cannot approve what it has asked for itself.
import type { ROUTES } from '@alx/protocol'
import type { Principal } from '@parley/core'
import type { FastifyRequest } from 'fastify'

export const ALX_SCOPES = ['solve', 'read', 'kb', 'settle', 'approve'] as const
export type AlxScope = (typeof ALX_SCOPES)[number]

export type RouteName = keyof typeof ROUTES

/** Undefined: needs no credentials. */
export const SCOPES: Readonly<Record<RouteName, AlxScope | undefined>> = {
  protocol: undefined,
  solve: 'solve',
  run: 'read',
  runEvents: 'read',
  approval: 'approve',
  feedback: 'solve',
  sessions: 'read',
  session: 'read',
  timeline: 'read',
  reset: 'solve',
  fork: 'solve',
  registerKb: 'kb',
  kb: 'kb',
  lineage: 'kb',
  verifyKb: 'kb',
  settle: 'settle',
  settlement: 'settle',
}

/** Who asks: `missing` where there are no credentials, `invalid` where they are nobody's. */
export type Authenticated = { readonly principal: Principal } | { readonly refused: 'missing' | 'invalid' }

/** Rejects where the directory cannot be read: nobody is let in then. */
export type Authenticate = (request: FastifyRequest) => Promise<Authenticated>
