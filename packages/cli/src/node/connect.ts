// Reaching the node. Inside a workspace every call carries the workspace's token, so that an agent never acts as the
// owner of its run, not even by accident.
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Client } from '@parley/call'
import { assertNever, ParleyError } from '@parley/core'
import type { ConnectChoice, Environment, GlobalFlags } from '../command.ts'
import { Failure } from '../failure.ts'
import { cliLimits } from '../limits.ts'
import type { Calls } from './client.ts'
import { forPeople, turnAt } from './for-people.ts'
import { explained, refuseSlip, refuseStopped } from './no-node.ts'

type Surroundings = Pick<Environment, 'env' | 'clock'>

export function connector(
  { profile }: Pick<GlobalFlags, 'profile'>,
  { env, clock }: Surroundings,
): (choice?: ConnectChoice) => Promise<Calls> {
  const file = env.PARLEY_TOKEN_FILE || undefined
  if (file !== undefined) return () => inside(file, { env, clock })
  return async ({
    start = true,
    create = false,
    lasting = false,
    anyVersion = false,
    env: more = {},
    onContinued = () => undefined,
  }: ConnectChoice = {}) => {
    // Loading code dominates short commands, so only this loads the way to a node.
    const { connectNode } = await import('@parley/node/commands')
    if (start && !create) await refuseSlip(profile, env)
    await refuseStopped(profile, env)
    const connected = await connectNode({
      ...(profile !== undefined && { profile }),
      env: { ...env, ...more, ...(lasting && { PARLEY_IDLE_TIMEOUT: '0' }) },
      start,
      anyVersion,
      clock,
    })
    if (!connected.ok) throw await explained(connected.error, profile, env)
    const { client, status, paths, started } = connected.value
    const runs = started && status ? status.runs.working + status.runs.waiting : 0
    if (runs > 0) onContinued(runs)
    return forPeople(callsOver(client as Client, undefined), () => turnAt(status?.socket ?? paths.socket, env))
  }
}

/** Inside a workspace the node at the named socket is used; none is ever started. */
export async function inside(file: string, { env, clock }: Surroundings): Promise<Calls> {
  const socket = env.PARLEY_SOCKET
  if (!socket) {
    throw new Failure('no_workspace', 'PARLEY_TOKEN_FILE is set, but PARLEY_SOCKET is not.', {
      why: "A workspace's turn has both in its environment.",
      next: 'Keep both as they were, or unset PARLEY_TOKEN_FILE outside a workspace.',
    })
  }
  const token = readToken(file)
  const { reachNode } = await import('@parley/node/commands')
  const { PARLEY_HOME: home, PARLEY_PROFILE: profile } = env
  const folder = home && profile ? join(home, profile) : undefined
  const reached = await reachNode({
    socket: () => socket,
    folder,
    keyless: true,
    clock,
    maxAttempts: cliLimits.reconnects,
  })
  switch (reached.kind) {
    case 'reached':
      if (!reached.strange)
        return forPeople(callsOver(reached.client as Client, token), async () => env.PARLEY_TURN || 'by its token')
      reached.client.close()
      throw reached.strange
    case 'absent':
      throw away(socket, reached.cause)
    case 'failed':
      throw reached.error instanceof ParleyError ? reached.error : away(socket, reached.error)
    default:
      return assertNever(reached)
  }
}

function readToken(file: string): string {
  try {
    if (statSync(file).size > cliLimits.tokenBytes) throw new RangeError('it is too large for a token')
    return readFileSync(file, 'utf8').trim()
  } catch (cause) {
    throw new Failure('permission_denied', `The token of this turn, ${file}, cannot be read.`, {
      why: `${(cause as NodeJS.ErrnoException).code ?? (cause as Error).message}: its turn is over, or this process may not read the file.`,
      next: 'End your process: the next turn has its own token.',
      details: { file },
      cause,
    })
  }
}

function away(socket: string, cause: unknown): Failure {
  return new Failure('node_unreachable', `The node of this workspace does not answer at ${socket}.`, {
    why: `The system says ${(cause as NodeJS.ErrnoException).code ?? 'nothing'}; the node has stopped or is restarting.`,
    next: 'Try again in a moment. Your files are kept either way.',
    details: { socket },
    cause,
  })
}

function callsOver(client: Client, token: string | undefined): Calls {
  const auth = token === undefined ? {} : { authToken: token }
  const named = (path: string) => path.split('/').slice(1) as [service: string, op: string]
  return {
    call: (path, input, options) => client.call(...named(path), input, { ...auth, ...options }),
    subscribe: (path, input, options) => client.subscribe(...named(path), input, { ...auth, ...options }),
    close: () => client.close(),
  }
}
