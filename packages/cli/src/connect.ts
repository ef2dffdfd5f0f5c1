// Reaching the node: the one file that knows how operations are called. Whoever holds a workspace's token sends it with every call, so
// that an agent never acts as the owner of its run, not even by accident.
import { readFileSync, statSync } from 'node:fs'
import { extname, join } from 'node:path'
import { assertNever, ParleyError } from '@parley/core'
import type { NodeClient } from '@parley/node'
import { reachNode, unanswered } from '@parley/node/reach'
import type { ConnectChoice, Environment, GlobalFlags } from './command.ts'
import { Failure } from './failure.ts'
import { forPeople, turnAt } from './for-people.ts'
import { cliLimits } from './limits.ts'
import { explained, refuseSlip, refuseStopped } from './no-node.ts'
import type { NodeApi } from './node-api.ts'

/** The script of this command, for a node to hand to its agents. Beside this file, built or not. */
export const COMMAND_FILE = join(import.meta.dirname, `parley${extname(import.meta.filename)}`)

type Surroundings = Pick<Environment, 'env' | 'clock'>

export function connector(
  { profile }: Pick<GlobalFlags, 'profile'>,
  { env, clock }: Surroundings,
): Environment['connect'] {
  const file = env.PARLEY_TOKEN_FILE || undefined
  if (file !== undefined) return () => inside(file, { env, clock })
  return async ({
    start = true,
    create = false,
    lasting = false,
    anyVersion = false,
    env: more = {},
  }: ConnectChoice = {}) => {
    // Most of the time that a short command takes is reading code: what does not need a node does not read it.
    const { connectNode } = await import('@parley/node')
    if (start && !create) await refuseSlip(profile, env)
    await refuseStopped(profile, env)
    const connected = await connectNode({
      ...(profile !== undefined && { profile }),
      // A node that is there to stay does not stop by itself.
      env: { PARLEY_COMMAND: COMMAND_FILE, ...env, ...more, ...(lasting && { PARLEY_IDLE_TIMEOUT: '0' }) },
      start,
      anyVersion,
      clock,
    })
    if (!connected.ok) throw await explained(connected.error, profile, env)
    const { client, status, paths } = connected.value
    return forPeople(apiOver(client, undefined), () => turnAt(status?.socket ?? paths.socket, env))
  }
}

/** Inside a workspace: its node is the one that is there, at the socket that it named, and it is never started from here. */
async function inside(file: string, { env, clock }: Surroundings): Promise<NodeApi> {
  const socket = env.PARLEY_SOCKET
  if (!socket) {
    throw new Failure('no_workspace', 'PARLEY_TOKEN_FILE is set, but PARLEY_SOCKET is not.', {
      why: 'A turn of a workspace has both in its environment.',
      next: 'Leave both as they were, or unset PARLEY_TOKEN_FILE outside of a workspace.',
    })
  }
  const token = readToken(file)
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
      if (reached.proof !== 'unanswered')
        return forPeople(apiOver(reached.client, token), async () => env.PARLEY_TURN || 'by its token')
      reached.client.close()
      throw unanswered(folder, socket)
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
      why: `${(cause as NodeJS.ErrnoException).code ?? (cause as Error).message}: the turn that it was made for is over, or something keeps this process from the file.`,
      next: 'End your process: the next turn has a token of its own.',
      details: { file },
      cause,
    })
  }
}

function away(socket: string, cause: unknown): Failure {
  return new Failure('node_unreachable', `The node of this workspace does not answer at ${socket}.`, {
    why: `The system says ${(cause as NodeJS.ErrnoException).code ?? 'nothing'}; the node has stopped, or starts again.`,
    next: 'Try again in a moment. Your files are kept either way.',
    details: { socket },
    cause,
  })
}

export function apiOver(client: NodeClient, token: string | undefined): NodeApi {
  const auth = token === undefined ? {} : { authToken: token }
  const following = (signal: AbortSignal | undefined) => ({ ...auth, ...(signal && { signal }) })
  return {
    status: () => client.call('node', 'status', {}, auth),
    // A node of another version may say nothing of it.
    held: async () => (await client.call('node', 'status', {}, auth)).machine ?? undefined,
    stop: async reason => void (await client.call('node', 'stop', { reason }, auth)),
    solve: input => client.call('solve', 'start', { ...input, environment: { ...input.environment } }, auth),
    runs: async ({ limit, states }) =>
      (await client.call('runs', 'list', { limit, ...(states && { states: [...states] }) }, auth)).runs,
    show: run => client.call('runs', 'show', { run }, auth),
    follow: (run, signal) => client.subscribe('runs', 'follow', { run }, following(signal)),
    abort: async (run, reason, task, grace) =>
      void (await client.call(
        'runs',
        'abort',
        { run, reason, ...(task !== undefined && { task }), ...(grace !== undefined && { grace }) },
        auth,
      )),
    migrate: (run, move) =>
      // The old agent may take its time to end.
      client.call('workspaces', 'migrate', { run, ...move }, { ...auth, timeout: cliLimits.migrateMs }),
    left: (run, task, checkpoint) =>
      client.call('workspaces', 'left', { run, task, ...(checkpoint !== undefined && { checkpoint }) }, auth),
    salvage: async (run, judged) =>
      (await client.call('workspaces', 'salvage', { run, ...judged }, auth)).salvage,
    tasks: async run => (await client.call('tasks', 'list', { run }, auth)).tasks,
    gates: async run => (await client.call('gates', 'list', run === undefined ? {} : { run }, auth)).gates,
    watchGates: signal => lists(client.subscribe('gates', 'watch', {}, following(signal))),
    respond: (gate, { changes, ...decision }, passphrase) =>
      client.call(
        'gates',
        'respond',
        { gate, ...decision, ...(changes && { changes: { ...changes } }), ...given({ passphrase }) },
        auth,
      ),
    reply: (question, reply, passphrase) =>
      client.call('escalations', 'respond', { question, ...reply, ...given({ passphrase }) }, auth),
    setPassphrase: (passphrase, present) =>
      client.call('gates', 'passphrase', given({ passphrase, present }), auth),
    inject: (run, message) => client.call('highway', 'inject', { run, ...message }, auth),
    suspend: async (run, reason, task) =>
      void (await client.call(
        'workspaces',
        'suspend',
        { run, reason, ...(task !== undefined && { task }) },
        auth,
      )),
    resume: async (run, task) =>
      void (await client.call('workspaces', 'resume', { run, ...(task !== undefined && { task }) }, auth)),
    budgets: async run => (await client.call('budgets', 'list', { run }, auth)).budgets,
    spentToday: () => client.call('budget', 'today', {}, auth),
    raiseBudget: async (run, raise) => void (await client.call('budgets', 'raise', { run, ...raise }, auth)),
    users: async () => (await client.call('users', 'list', {}, auth)).users,
    changeUser: change => client.call('users', 'change', change, auth),
    queryTrail: ({ event_type, ...query }) =>
      client.call('trail', 'query', { ...query, ...(event_type && { event_type: [...event_type] }) }, auth),
    watchTrail: ({ event_type, ...query }, signal) =>
      client.subscribe(
        'trail',
        'watch',
        { ...query, ...(event_type && { event_type: [...event_type] }) },
        {
          ...following(signal),
          resume: {
            cursor: page => page.cursor,
            input: (input, cursor) => ({ ...input, after: Number(cursor) }),
          },
        },
      ),
    verifyTrail: (run, expect = []) =>
      client.call(
        'trail',
        'verify',
        { ...(run !== undefined && { run }), ...(expect.length > 0 && { expect: [...expect] }) },
        { ...auth, timeout: cliLimits.verifyMs },
      ),
    proveEntry: (run, entry) => client.call('trail', 'proof', { run, entry }, auth),
    exportTrail: run => exported(client.subscribe('trail', 'export', { run }, auth)),
    packTrail: (run, { content, upTo }) =>
      packed(
        client.subscribe('trail', 'pack', { run, content, ...(upTo !== undefined && { up_to: upTo }) }, auth),
      ),
    importTrail: (file, keys) =>
      client.call('trail', 'import', { file, keys: [...keys] }, { ...auth, timeout: cliLimits.verifyMs }),
    trailHeads: () => headPages(client.subscribe('trail', 'heads', {}, auth)),
    trailKeys: async () => (await client.call('trail', 'keys', {}, auth)).keys,
    rotateKey: () => client.call('trail', 'rotate-key', {}, auth),
    trailTiers: () => client.call('trail', 'tiers', {}, { ...auth, timeout: cliLimits.verifyMs }),
    compactTrail: run =>
      client.call(
        'trail',
        'compact',
        { ...(run !== undefined && { run }) },
        { ...auth, timeout: cliLimits.verifyMs },
      ),
    snapshotTrail: (run, upTo) =>
      client.call(
        'trail',
        'snapshot',
        { run, ...(upTo !== undefined && { up_to: upTo }) },
        { ...auth, timeout: cliLimits.verifyMs },
      ),
    restoreTrail: () => client.call('trail', 'restore', {}, { ...auth, timeout: cliLimits.verifyMs }),
    linkIdentity: () => client.call('link', 'identity', {}, auth),
    rotateIdentity: () => client.call('link', 'rotate-key', {}, auth),
    peers: () => client.call('peers', 'list', {}, auth),
    pinPeer: async ({ allow, ...input }) =>
      (await client.call('peers', 'pin', { ...input, ...(allow && { allow: [...allow] }) }, auth)).peer,
    unpinPeer: async id => (await client.call('peers', 'unpin', { id }, auth)).peer,
    allowPeer: async (id, allow) =>
      (await client.call('peers', 'allow', { id, allow: [...allow] }, auth)).peer,
    pendingPeers: async () => (await client.call('peers', 'pending', {}, auth)).pending,
    acceptPeer: async ({ allow, ...input }) =>
      (await client.call('peers', 'accept', { ...input, ...(allow && { allow: [...allow] }) }, auth)).peer,
    dismissPeer: key => client.call('peers', 'dismiss', { key }, auth),
    ping: (peer, timeoutMs) =>
      client.call(
        'link',
        'ping',
        { peer, ...(timeoutMs !== undefined && { timeout_ms: timeoutMs }) },
        // The node says what became of it; its own time comes first.
        { ...auth, timeout: cliLimits.callMarginMs + (timeoutMs ?? 0) },
      ),
    ask: (input, signal) => client.subscribe('link', 'ask', { ...input }, following(signal)),
    cancelAsk: (peer, session) =>
      client.call(
        'link',
        'cancel',
        { peer, ...(session !== undefined && { session }) },
        { ...auth, timeout: cliLimits.callMarginMs },
      ),
    callPeer: async input =>
      (
        await client.call('link', 'call', input, {
          ...auth,
          timeout: cliLimits.callMarginMs + (input.timeout_ms ?? 0),
        })
      ).output,
    agents: async () => (await client.call('agents', 'list', {}, auth)).agents,
    workspaceStatus: () => client.call('workspaces', 'status', {}, auth),
    workspaceInbox: async () => (await client.call('workspaces', 'inbox', {}, auth)).mail,
    checkpoint: intent => client.call('workspaces', 'checkpoint', { intent }, auth),
    block: async reason => void (await client.call('workspaces', 'block', { reason }, auth)),
    close: () => client.close(),
  }
}

/** What is there of it. */
function given<K extends string>(values: Readonly<Record<K, string | undefined>>): { [Name in K]?: string } {
  const there = Object.entries(values).filter(([, value]) => value !== undefined)
  return Object.fromEntries(there) as { [Name in K]?: string }
}

async function* lists<T>(pages: AsyncIterable<{ readonly gates: T }>): AsyncIterable<T> {
  for await (const { gates } of pages) yield gates
}

async function* exported(pages: AsyncIterable<{ readonly lines: readonly string[] }>): AsyncIterable<string> {
  for await (const { lines } of pages) yield* lines
}

async function* packed(pieces: AsyncIterable<{ readonly data: string }>): AsyncIterable<Uint8Array> {
  for await (const { data } of pieces) yield Buffer.from(data, 'base64')
}

async function* headPages<T>(pages: AsyncIterable<{ readonly heads: T }>): AsyncIterable<T> {
  for await (const { heads } of pages) yield heads
}
