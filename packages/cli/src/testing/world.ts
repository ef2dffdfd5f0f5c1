// A machine for end-to-end tests: a home, a project in git, the real command as processes, and a node that is gone at
// the end.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { SystemClock } from '@parley/core'
import { bundled } from '@parley/node/testing'
import { expect } from 'vitest'
import { type NodeClient, nodeClient } from '../node/client.ts'
import { connector } from '../node/connect.ts'
import { type GateView, isOver, type RunSummaryView, type RunView } from '../node/views.ts'
import { HOUSEWORK, teamFile } from './team.ts'

const { parley: ENTRY } = await bundled()
const RUNTIME = ['--disable-warning=ExperimentalWarning']

export interface Ran {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

export interface Running {
  readonly child: ChildProcess
  readonly ended: Promise<Ran>
  /** Resolves when the text stands in its output. */
  printed(text: string): Promise<void>
}

export class World {
  readonly folder = realpathSync(mkdtempSync(join(tmpdir(), 'parley-e2e-')))
  readonly project = join(this.folder, 'project')
  readonly home = join(this.folder, 'home')
  readonly env: Record<string, string>
  readonly #running = new Set<Running>()
  #mounted = false

  constructor() {
    const bin = join(this.folder, 'bin')
    for (const each of [this.project, this.home, bin]) mkdirSync(each)
    // Agents find the command under its name, as they would when it is installed.
    const quoted = [process.execPath, ...RUNTIME, ENTRY].map(each => `'${each}'`).join(' ')
    writeFileSync(join(bin, 'parley'), `#!/bin/sh\nexec ${quoted} "$@"\n`)
    chmodSync(join(bin, 'parley'), 0o755)
    this.env = {
      PATH: [bin, dirname(process.execPath), process.env.PATH].join(':'),
      HOME: this.folder,
      PARLEY_HOME: this.home,
      LANG: 'C.UTF-8',
      // No node of a test is reached from another machine, and no two of them want the same port.
      ALPI_NETWORK_HOST: '127.0.0.1',
      ALPI_ALP_TCP_PORT: '0',
    }
    this.git('init', '--quiet', '--initial-branch=main')
    this.git('config', 'user.name', 'Mira')
    this.git('config', 'user.email', 'mira@example.org')
    this.write('README.md', '# House\n')
    this.commit()
  }

  /** A disk of its own for the home. */
  mount(options: string): void {
    execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', this.home])
    this.#mounted = true
  }

  git(...args: readonly string[]): string {
    return execFileSync('git', args, {
      cwd: this.project,
      encoding: 'utf8',
      env: { ...this.env, GIT_CONFIG_NOSYSTEM: '1' },
    }).trim()
  }

  write(file: string, text: string): void {
    writeFileSync(join(this.project, file), text)
  }

  commit(): void {
    this.git('add', '.')
    this.git('commit', '--quiet', '--message', 'x')
  }

  start(
    args: readonly string[],
    options: {
      readonly env?: Record<string, string>
      readonly program?: string
      readonly input?: string
    } = {},
  ): Running {
    const [program, all] = options.program ? [options.program, args] : [process.execPath, [...RUNTIME, ENTRY, ...args]]
    const child = spawn(program, all, { cwd: this.project, env: { ...this.env, ...options.env } })
    child.stdin.on('error', () => undefined)
    child.stdin.end(options.input ?? '')
    let out = ''
    let err = ''
    const waiting: (() => void)[] = []
    child.stdout.on('data', (chunk: Buffer) => {
      out += chunk
      for (const look of waiting) look()
    })
    child.stderr.on('data', (chunk: Buffer) => {
      err += chunk
      for (const look of waiting) look()
    })
    const ended = new Promise<Ran>(resolve => {
      child.once('close', code => {
        this.#running.delete(running)
        resolve({ code, out, err })
      })
    })
    const printed = (text: string) =>
      new Promise<void>((resolve, reject) => {
        const look = () => {
          if ((out + err).includes(text)) resolve()
        }
        waiting.push(look)
        look()
        void ended.then(() => reject(new Error(`it ended without '${text}':\n${out}${err}`)))
      })
    const running: Running = { child, ended, printed }
    this.#running.add(running)
    return running
  }

  parley(...args: readonly string[]): Promise<Ran> {
    return this.start(args).ended
  }

  async json<T>(...args: readonly string[]): Promise<T> {
    const { out, err, code } = await this.parley(...args, '--json')
    if (out === '') throw new Error(`parley ${args.join(' ')} ended with ${code}: ${err}`)
    return JSON.parse(out.trim().split('\n').at(-1)!) as T
  }

  /** What a command prints that is done. */
  async ok(...args: readonly string[]): Promise<string> {
    const { code, out, err } = await this.parley(...args)
    expect(code, `parley ${args.join(' ')}: ${out}${err}`).toBe(0)
    return out
  }

  /** The team file of the project. */
  team(text: string): void {
    this.write('parley.yaml', text)
    this.commit()
  }

  /** Begins a run of the team file in the background. */
  async detach(...flags: readonly string[]): Promise<string> {
    return (await this.ok('run', 'parley.yaml', '--detach', ...flags)).split('\n')[0]!
  }

  /** A run of the housework that is done. */
  async solved(intent: string): Promise<string> {
    if (!existsSync(join(this.project, 'parley.yaml'))) this.team(teamFile(...HOUSEWORK))
    await this.ok('solve', intent, '--yes')
    const { runs } = await this.json<{ runs: RunSummaryView[] }>('runs')
    return runs.find(run => run.intent === intent)!.run
  }

  /** Asks the node that runs from this process: a command for each look would be a process for each. */
  async #asking<T>(ask: (api: NodeClient) => Promise<T>): Promise<T> {
    const connect = connector({ profile: undefined }, { env: this.env, clock: new SystemClock() })
    const calls = await connect({ start: false, anyVersion: true })
    try {
      return await ask(nodeClient(calls))
    } finally {
      calls.close()
    }
  }

  /** The run at its end. */
  over(run: string): Promise<RunView> {
    return this.#asking(async api => {
      for await (const { state } of api.streams.runs.follow({ run })) if (isOver(state)) break
      return api.runs.show({ run })
    })
  }

  /** A gate of this type, as soon as it waits. */
  waiting(run: string, type: GateView['type']): Promise<GateView> {
    return this.#asking(async api => {
      for await (const { gates, state, reason } of api.streams.runs.follow({ run })) {
        const found = gates.find(gate => gate.type === type)
        if (found) return found
        if (isOver(state)) throw new Error(`${run} is ${state}: ${reason}`)
      }
      throw new Error(`nothing of type ${type} waits in ${run}`)
    })
  }

  /** A file of the result of a run. */
  result({ result }: RunView, file: string): string {
    return this.git('show', `${result!.branch}:${file}`)
  }

  /** Stops the node, if one runs, and waits until it has ended. */
  async stop(): Promise<void> {
    const pid = this.nodePid
    if (pid === undefined) return
    try {
      process.kill(pid, 'SIGTERM')
    } catch {
      // It was killed before.
    }
    await gone(pid)
  }

  /** A node in the foreground of this test. */
  async up(): Promise<Running> {
    const node = this.start(['up'])
    await node.printed('the node is up')
    return node
  }

  get nodePid(): number | undefined {
    try {
      return (JSON.parse(readFileSync(join(this.home, 'default', 'node.json'), 'utf8')) as { readonly pid: number }).pid
    } catch {
      return undefined
    }
  }

  async close(): Promise<void> {
    try {
      await this.stop()
    } finally {
      for (const { child, ended } of this.#running) {
        child.kill('SIGKILL')
        await ended
      }
      if (this.#mounted) execFileSync('umount', ['--lazy', this.home])
      rmSync(this.folder, { recursive: true, force: true })
    }
  }
}

/** A process that is not a child cannot be waited for: it is looked at until it is gone. */
export async function gone(pid: number): Promise<void> {
  // 0 and below name whole groups of processes, this one among them.
  if (!(pid > 0)) throw new RangeError(`${pid} is no process`)
  for (let looks = 0; looks < 1500; looks++) {
    try {
      process.kill(pid, 0)
    } catch {
      return
    }
    await new Promise(resolve => setTimeout(resolve, 10))
  }
  process.kill(pid, 'SIGKILL')
  throw new Error(`the process ${pid} did not end by itself`)
}
