// The peer in Python (peer.py), for tests: a caller whose words are kept, or a server.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface, type Interface } from 'node:readline'
import { orInstalled } from '@parley/call/testing'
import { onTestFinished } from 'vitest'
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

function python(job: object): ChildProcess {
  const child = spawn(python3!, [SCRIPT], { stdio: ['pipe', 'pipe', 'inherit'] })
  onTestFinished(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  })
  child.stdin!.write(`${JSON.stringify(job)}\n`)
  return child
}

/** What the Python caller says that it got. It is alice unless the job says otherwise. */
export async function pythonCalls(target: Target, job: object): Promise<unknown[]> {
  const said: unknown[] = []
  const child = python({
    do: 'call',
    seed: identityVector('alice').ed25519_seed_hex,
    to: target.identity,
    method: 'link.ping',
    params: {},
    ...target.at,
    ...job,
  })
  child.stdin!.end()
  for await (const line of createInterface({ input: child.stdout! })) said.push(JSON.parse(line))
  return said
}

/** A Python server that is bob: where it listens, what it says, and whom it pins. */
export class PythonServer {
  readonly target: Target
  readonly #child: ChildProcess
  readonly #lines: Interface

  static async start(carrier: Carrier, pinned?: readonly string[]): Promise<PythonServer> {
    const path = join(temporaryFolder(), 's')
    const seed = identityVector('bob').ed25519_seed_hex
    const child = python({
      do: 'serve',
      seed,
      ...(carrier === 'unix' && { path }),
      ...(pinned && { pinned }),
    })
    const lines = createInterface({ input: child.stdout! })
    const [line] = (await once(lines, 'line')) as [string]
    const { port } = JSON.parse(line) as { port: number }
    const at = carrier === 'unix' ? { path } : { host: '127.0.0.1', port }
    return new PythonServer({ identity: identityOf('bob').id, at }, child, lines)
  }

  private constructor(target: Target, child: ChildProcess, lines: Interface) {
    this.target = target
    this.#child = child
    this.#lines = lines
  }

  /** The next thing that it says. */
  async says(): Promise<unknown> {
    const [line] = (await once(this.#lines, 'line')) as [string]
    return JSON.parse(line)
  }

  async pin(identity: string): Promise<void> {
    const said = this.says()
    this.#child.stdin!.write(`${JSON.stringify({ pin: identity })}\n`)
    await said
  }
}
