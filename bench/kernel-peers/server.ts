// A peer's server: a child process with a temporary folder, both of which go with the leftovers.
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { chownSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Leftovers } from './leftovers.ts'

const PROBE_MILLISECONDS = 25
const START_MILLISECONDS = 60_000
const LOG_CHARACTERS = 2000

export interface Owner {
  readonly uid: number
  readonly gid: number
}

export function temporaryFolder(leftovers: Leftovers, owner?: Owner): string {
  const folder = mkdtempSync(join(tmpdir(), 'parley-peer-'))
  // A server that was killed a moment ago may still be writing.
  leftovers.add(() => rmSync(folder, { recursive: true, force: true, maxRetries: 40, retryDelay: 50 }))
  if (owner) chownSync(folder, owner.uid, owner.gid)
  return folder
}

/** Starts a server and waits until it is healthy; rejects with the end of its log when it is not. */
export async function startServer(
  leftovers: Leftovers,
  command: string,
  args: readonly string[],
  options: SpawnOptions,
  kill: (server: ChildProcess) => void,
  healthy: () => Promise<boolean>,
): Promise<void> {
  const server = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
  let log = ''
  for (const output of [server.stdout, server.stderr]) {
    output?.setEncoding('utf8').on('data', (text: string) => {
      log = (log + text).slice(-LOG_CHARACTERS)
    })
  }
  let ended: string | undefined
  server.on('error', error => {
    ended ??= error.message
  })
  server.on('close', (code, signal) => {
    ended ??= `it ended with ${signal ?? `code ${code}`}`
  })
  leftovers.add(() => {
    if (ended === undefined) kill(server)
  })
  try {
    await until(async () => {
      if (ended !== undefined) throw new Error(ended)
      return healthy()
    })
  } catch (error) {
    throw new Error(`${basename(command)} did not start: ${(error as Error).message}\n${log}`)
  }
}

/** Asks again and again until the answer is yes; rejects when that takes too long. */
export async function until(probe: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + START_MILLISECONDS
  while (!(await probe())) {
    if (performance.now() > deadline) throw new Error(`not ready after ${START_MILLISECONDS / 1000} s`)
    await delay(PROBE_MILLISECONDS)
  }
}

/** Ports of the loopback interface that are free now, all different. */
export async function freePorts(count: number): Promise<number[]> {
  const listeners = await Promise.all(
    Array.from({ length: count }, async () => {
      const listener = createServer()
      await new Promise<void>((resolve, reject) => {
        listener.once('error', reject).listen(0, '127.0.0.1', resolve)
      })
      return listener
    }),
  )
  const ports = listeners.map(listener => (listener.address() as AddressInfo).port)
  await Promise.all(listeners.map(listener => new Promise(resolve => listener.close(resolve))))
  return ports
}

export function installedVersion(name: string): string {
  const manifest = join(import.meta.dirname, '..', 'node_modules', name, 'package.json')
  return (JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }).version
}
