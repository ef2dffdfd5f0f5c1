// A machine for one life of a node: a disk with the profile on it, a project in git, and the node as a process of its
// own, started as a command would start it.
import { execFileSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Clock, type ParleyError, SystemClock, type Ticks, ticksPerMillisecond } from '@parley/core'
import { connectNode, type NodeConnection } from '@parley/node/commands'
import type { Bundled } from '@parley/node/testing'
import { Control } from './control.ts'
import { Disk } from './disk.ts'
import { faultLimits, faultTimes } from './limits.ts'
import { Finding, until } from './waiting.ts'

export interface WorldOptions {
  /** The preload library, where it can be had. */
  readonly shim?: string
  /** What is started: it takes most of a life's time, so it is made to start fast. */
  readonly bundle: Bundled
  /** The programs that the node starts have its faults too. */
  readonly children: boolean
  readonly replica: boolean
}

export class World {
  readonly folder = realpathSync(mkdtempSync(join(tmpdir(), 'parley-faults-')))
  readonly disk: Disk
  readonly control: Control
  readonly home: string
  readonly profile: string
  readonly project: string
  readonly replica: string | undefined
  readonly shim: boolean
  /** That of the node: steps of its wall clock are seen by whoever calls it on the same machine. */
  readonly clock: Clock
  /** An archive was taken out of the cold tier and is not back yet. */
  lacking = false
  /** An import counts, and can be read after the next start. */
  unfinished = false
  readonly #env: Readonly<Record<string, string | undefined>>
  readonly #entry: string
  #connection: NodeConnection | undefined
  #waiting = Promise.withResolvers<void>()

  constructor({ shim, bundle, children, replica }: WorldOptions) {
    this.#entry = bundle.main
    this.disk = new Disk(join(this.folder, 'disk'))
    this.control = new Control(join(this.folder, 'control'))
    this.home = join(this.disk.folder, 'home')
    this.profile = join(this.home, 'default')
    this.project = join(this.folder, 'project')
    this.replica = replica ? join(this.folder, 'replica') : undefined
    this.shim = shim !== undefined
    mkdirSync(this.home)
    for (const each of [this.profile, this.project, ...(this.replica ? [this.replica] : [])])
      mkdirSync(each, { mode: 0o700 })
    const second = this.replica === undefined ? '' : `, replica: ${JSON.stringify(this.replica)}`
    writeFileSync(join(this.profile, 'config.yaml'), `trail: { compact: 200ms, warm: 1s${second} }\n`)
    this.git('init', '--quiet', '--initial-branch=main')
    writeFileSync(join(this.project, 'README.md'), 'A project.\n')
    this.git('add', '-A')
    this.git('commit', '--quiet', '-m', 'first')
    const system = new SystemClock()
    this.clock = {
      now: () => (system.now() + this.control.clockMs * ticksPerMillisecond) as Ticks,
      after: (milliseconds, run, options) => system.after(milliseconds, run, options),
    }
    this.#env = {
      ...process.env,
      PARLEY_HOME: this.home,
      PARLEY_IDLE_TIMEOUT: '0',
      ALPI_NETWORK_HOST: '127.0.0.1',
      ALPI_ALP_TCP_PORT: '0',
      ...(shim && { LD_PRELOAD: shim, PARLEY_FAULTS: this.control.file }),
      ...(shim && children && { PARLEY_FAULTS_CHILDREN: '1' }),
    }
  }

  git(...args: readonly string[]): string {
    const own = ['-c', 'user.name=Faults', '-c', 'user.email=faults@localhost']
    return execFileSync('git', [...own, ...args], { cwd: this.project, encoding: 'utf8' })
  }

  /** Undefined while there is none, or none that this driver is connected to. */
  get client(): NodeConnection['client'] | undefined {
    return this.#connection?.client
  }

  get pid(): number {
    const pid = this.#connection?.status?.pid
    if (pid === undefined) throw new Error('no node runs')
    return pid
  }

  /** Resolves when there is a node to ask. */
  async up(): Promise<NodeConnection['client']> {
    while (!this.#connection) await this.#waiting.promise
    return this.#connection.client
  }

  /** The refusal of a node that did not start, if any. */
  async start(): Promise<ParleyError | undefined> {
    if (this.#connection) throw new Error('a node runs already')
    const connected = await connectNode({
      env: this.#env,
      start: true,
      clock: this.clock,
      maxAttempts: 2,
      entry: this.#entry,
    })
    if (!connected.ok) return connected.error
    this.#connection = connected.value
    this.#waiting.resolve()
    return undefined
  }

  /** Starts a node and does not wait for it; whatever becomes of it is told. */
  startAside(): Promise<ParleyError | undefined> {
    const starting = this.start()
    starting.catch(() => undefined)
    return starting
  }

  /** The same, where nothing fails any more: it must start. */
  async started(): Promise<void> {
    if (this.#connection) return
    const refused = await this.start()
    if (refused) throw new Finding(`the node does not start again: ${refused.code}: ${refused.message}`)
  }

  /** How a node refused to start, which it may while something fails; one that crashed or hangs is a finding. */
  refusal({ code, message }: ParleyError): string {
    // Before there is a process: the folder or the log cannot be written.
    const system =
      code === 'profile_unusable' || code === 'machine_fault'
        ? code
        : /could not be started: Error: (E[A-Z]+)/.exec(message)?.[1]
    if (system !== undefined) return `the start was refused: ${system}`
    const exit = /It ended with code (\d+)/.exec(message)?.[1]
    if (exit === undefined) throw new Finding(`a start neither succeeded nor was refused: ${message}`)
    if (exit === '70') throw new Finding(`a start ended as a defect: ${this.log(3).join(' | ')}`)
    return `the start was refused with exit code ${exit}`
  }

  /** SIGKILL, and nothing is left of the process. */
  async kill(): Promise<void> {
    const { pid } = this
    process.kill(pid, 'SIGKILL')
    await this.#gone(pid)
    this.forget()
  }

  /** A clean stop; what the node refused it with otherwise. */
  async stop(): Promise<Error | undefined> {
    const { pid } = this
    const options = { type: 'mutation', timeout: faultTimes.answer } as const
    const { result } = await this.client!.invoke('node', 'stop', { reason: 'the driver asks for it' }, options)
    if (!result.ok) return result.error
    await this.#gone(pid)
    this.forget()
    return undefined
  }

  /** The node has gone by itself or by somebody else's hand. */
  forget(): void {
    this.#connection?.client.close()
    this.#connection = undefined
    this.#waiting = Promise.withResolvers()
  }

  get alive(): boolean {
    const pid = this.#connection?.status?.pid
    return pid !== undefined && isThere(pid)
  }

  /** Processes that have to do with this world: nodes, agents, their children. */
  processes(): readonly number[] {
    const mark = `PARLEY_HOME=${this.home}\0`
    return readdirSync('/proc')
      .filter(name => /^\d+$/.test(name) && Number(name) !== process.pid)
      .map(Number)
      .filter(pid => {
        try {
          return `${readFileSync(`/proc/${pid}/environ`, 'latin1')}\0`.includes(mark)
        } catch {
          return false
        }
      })
  }

  /** The last lines of the node's log. */
  log(lines: number = faultLimits.shownLog): readonly string[] {
    const file = join(this.profile, 'logs', 'node.log')
    return existsSync(file) ? readFileSync(file, 'utf8').trimEnd().split('\n').slice(-lines) : []
  }

  /** Ends whatever is left; `keep`: the folders stay for whoever wants to look. */
  async close(keep: boolean): Promise<void> {
    this.forget()
    for (const pid of this.processes()) {
      try {
        process.kill(pid, 'SIGKILL')
      } catch {}
    }
    await until(
      faultTimes.end,
      () => `the end of the processes ${this.processes().join(', ')}`,
      () => this.processes().length === 0,
    )
    this.control.close()
    if (keep) return
    await this.disk.close()
    rmSync(this.folder, { recursive: true, force: true })
  }

  async #gone(pid: number): Promise<void> {
    await until(
      faultTimes.end,
      () => `the end of process ${pid}`,
      () => !isThere(pid),
    )
  }
}

function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
