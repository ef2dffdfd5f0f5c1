// The peer in Python (peer.py), for tests: a caller whose words are kept, or a server.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { orInstalled } from '@parley/call/testing'
import { afterAll, onTestFinished } from 'vitest'
import type { Target } from '../client/target.ts'
import type { Carrier } from '../transport/channel.ts'
import { temporaryFolder } from './homes.ts'
import { identityOf, identityVector } from './vectors.ts'

const SCRIPT = join(import.meta.dirname, 'peer.py')

/** Debian's own first: another Python of the machine need not have the package. */
const python3 = orInstalled('python3-cryptography', () =>
  ['/usr/bin/python3', 'python3'].find(program => spawnSync(program, ['-c', 'import cryptography']).status === 0),
)

/** Why there can be no such peer here. */
export const pythonMissing = python3 === undefined
export const PYTHON_MISSING = 'python3 with its cryptography package is not installed'

/** A Python process, the lines that it says, and what ends it. */
function python() {
  const child = spawn(python3!, [SCRIPT], { stdio: ['pipe', 'pipe', 'inherit'] })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return {
    tell: (job: object) => void child.stdin.write(`${JSON.stringify(job)}\n`),
    said: async (): Promise<unknown> => {
      const { done, value } = await lines.next()
      if (done) throw new Error('The peer in Python has ended.')
      return JSON.parse(value)
    },
    async kill() {
      if (child.exitCode !== null || child.signalCode !== null) return
      child.kill('SIGKILL')
      await once(child, 'exit')
    },
  }
}
type Python = ReturnType<typeof python>

/** One caller for all tests of a file: to start it takes longer than what it does. */
let caller: Python | undefined
afterAll(() => caller?.kill())

/** What the Python caller says that it got. It is alice unless the job says otherwise. */
export async function pythonCalls(target: Target, job: object): Promise<unknown[]> {
  caller ??= python()
  const alice = { do: 'call', seed: identityVector('alice').ed25519_seed_hex, method: 'link.ping', params: {} }
  caller.tell({ ...alice, to: target.identity, ...target.at, ...job })
  const said: unknown[] = []
  for (let line = await caller.said(); line !== 'done'; line = await caller.said()) said.push(line)
  return said
}

/** A Python server that is bob: where it listens, what it says, and whom it pins. */
export class PythonServer {
  readonly target: Target
  readonly #python: Python

  static async start(carrier: Carrier, pinned?: readonly string[]): Promise<PythonServer> {
    const path = join(temporaryFolder(), 's')
    const server = python()
    onTestFinished(() => server.kill())
    const seed = identityVector('bob').ed25519_seed_hex
    server.tell({ do: 'serve', seed, ...(carrier === 'unix' && { path }), ...(pinned && { pinned }) })
    const { port } = (await server.said()) as { port: number }
    const at = carrier === 'unix' ? { path } : { host: '127.0.0.1', port }
    return new PythonServer({ identity: identityOf('bob').id, at }, server)
  }

  private constructor(target: Target, server: Python) {
    this.target = target
    this.#python = server
  }

  /** The next thing that it says. */
  says(): Promise<unknown> {
    return this.#python.said()
  }

  async pin(identity: string): Promise<void> {
    this.#python.tell({ pin: identity })
    await this.says()
  }
}
