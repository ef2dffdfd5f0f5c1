// The sides of the comparison. The server of each is a process of its own; all are asked by the same client.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { type Measured, measureExchanges } from './http-client.ts'
import { Server } from './server.ts'
import type { TasksAsked } from './tasks.ts'

export interface Side {
  readonly name: string
  /** Undefined where this side cannot be had: its cells stay empty. */
  readonly measure: ((atOnce: number, milliseconds: number) => Promise<Measured>) | undefined
  stop(): Promise<void>
}

/** What a server answers to one of its requests; the server goes on when the side stops. */
export function sideOf(name: string, server: Server, request = 'answer'): Side {
  const shape = server.ready.requests[request]
  if (!shape) throw new Error(`${name} has no request ${request}`)
  return {
    name: server.ready.version === undefined ? name : `${name} (${server.ready.version})`,
    measure: (atOnce, milliseconds) => measureExchanges(shape, atOnce, milliseconds),
    stop: async () => undefined,
  }
}

export function missingSide(name: string): Side {
  return { name, measure: undefined, stop: async () => undefined }
}

export function complain(name: string, why: string): void {
  console.error(`\n!!! ${name} is missing from this comparison: ${why}\n`)
}

export function startBare(): Promise<Server> {
  return Server.start(join(import.meta.dirname, 'node-http.ts'))
}

/** Their packages are installed for a comparison alone: one that cannot be had is missing, and the rest goes on. */
export async function peerSide(name: string, file: string, ...args: readonly string[]): Promise<Side> {
  try {
    const server = await Server.start(join(import.meta.dirname, '..', 'alx-peers', file), args)
    return { ...sideOf(name, server), stop: () => server.stop() }
  } catch (error) {
    complain(name, (error as Error).message)
    return missingSide(name)
  }
}

/** `bench kernel`'s whole tasks: as many runs as others have requests in flight. It has a rate and no times. */
export function tasksSide(): Side {
  const child = fork(join(import.meta.dirname, 'tasks.ts'))
  return {
    name: 'whole tasks of `bench kernel`',
    async measure(runs, milliseconds) {
      const over = new AbortController()
      const failed = once(child, 'exit', { signal: over.signal }).then(([code]) => {
        throw new Error(`the process of whole tasks ended with ${code}`)
      })
      const measured = once(child, 'message', { signal: over.signal }).then(([message]) => message as Measured)
      child.send({ runs, milliseconds } satisfies TasksAsked)
      try {
        return await Promise.race([measured, failed])
      } finally {
        over.abort()
      }
    },
    async stop() {
      if (child.exitCode !== null) return
      const exit = once(child, 'exit')
      child.disconnect()
      await exit
    },
  }
}
