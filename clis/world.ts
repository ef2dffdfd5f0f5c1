// A machine for one check: an empty home, a project in git, a program on the PATH, `parley` with a node of its own, and
// the model server.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import type { RunView } from '@parley/coordinator'
import type { Bundled } from '@parley/node/testing'
import { cacheFolder } from './install.ts'
import { clisLimits } from './limits.ts'
import type { Program } from './programs.ts'
import { ModelServer } from './server/model-server.ts'

export interface Ran {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

export class World {
  /** Not in a folder that others may write: gemini reads no settings from there. */
  readonly folder = realpathSync(mkdtempSync(join(worlds(), 'w-')))
  readonly project = join(this.folder, 'project')
  readonly home = join(this.folder, 'home')
  readonly env: Record<string, string>
  readonly server: ModelServer
  readonly #entry: string

  private constructor(server: ModelServer, bundle: Bundled, bins: readonly string[], programs: readonly Program[]) {
    this.server = server
    this.#entry = bundle.parley
    const bin = join(this.folder, 'bin')
    for (const each of [this.project, this.home, bin]) mkdirSync(each)
    writeFileSync(join(bin, 'parley'), `#!/bin/sh\nexec '${process.execPath}' ${RUNTIME} '${this.#entry}' "$@"\n`)
    chmodSync(join(bin, 'parley'), 0o755)
    this.env = {
      PATH: [bin, ...bins, dirname(process.execPath), '/usr/local/bin', '/usr/bin', '/bin'].join(':'),
      HOME: this.home,
      PARLEY_HOME: join(this.folder, 'parley'),
      LANG: 'C.UTF-8',
      TERM: 'dumb',
      // No node of a check is reached from another machine, and no two of them want the same port.
      ALPI_NETWORK_HOST: '127.0.0.1',
      ALPI_ALP_TCP_PORT: '0',
    }
    for (const program of programs) {
      Object.assign(this.env, program.environment(server.url))
      for (const [file, text] of Object.entries(program.home?.(server.url) ?? {}))
        this.#file(join(this.home, file), text)
    }
    this.git('init', '--quiet', '--initial-branch=main')
    this.git('config', 'user.name', 'Mira')
    this.git('config', 'user.email', 'mira@example.org')
    this.write('README.md', '# A project\n')
    this.commit()
  }

  static async make(bundle: Bundled, bins: readonly string[], programs: readonly Program[]): Promise<World> {
    return new World(await ModelServer.listen(), bundle, bins, programs)
  }

  #file(path: string, text: string): void {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
  }

  git(...args: readonly string[]): string {
    const options = { cwd: this.project, encoding: 'utf8', env: { ...this.env, GIT_CONFIG_NOSYSTEM: '1' } } as const
    return execFileSync('git', args, options).trimEnd()
  }

  write(file: string, text: string): void {
    this.#file(join(this.project, file), text)
  }

  commit(): void {
    this.git('add', '.')
    this.git('commit', '--quiet', '--message', 'x')
  }

  team(text: string): void {
    this.write('parley.yaml', text)
    this.commit()
  }

  /** Begins a command of Parley. */
  start(...args: readonly string[]): { readonly child: ChildProcess; readonly ended: Promise<Ran> } {
    const child = spawn(join(this.folder, 'bin', 'parley'), args, { cwd: this.project, env: this.env })
    let out = ''
    let err = ''
    child.stdin.end()
    child.stdout.on('data', (chunk: Buffer) => (out += chunk))
    child.stderr.on('data', (chunk: Buffer) => (err += chunk))
    const ended = new Promise<Ran>(resolve => {
      // A check that was given up has no world any more.
      child.once('error', ({ message }) => resolve({ code: null, out, err: message }))
      child.once('close', code => {
        resolve({ code, out, err })
      })
    })
    return { child, ended }
  }

  parley(...args: readonly string[]): Promise<Ran> {
    return this.start(...args).ended
  }

  async json<T>(...args: readonly string[]): Promise<T> {
    const { out, err, code } = await this.parley(...args, '--json')
    if (out === '') throw new Error(`parley ${args.join(' ')} ended with ${code}: ${err}`)
    return JSON.parse(out.trim().split('\n').at(-1)!) as T
  }

  async solve(intent: string, ...flags: readonly string[]): Promise<RunView> {
    const { err, code } = await this.parley('solve', intent, '--yes', ...flags)
    if (code === 2 || code === 4) throw new Error(`parley solve ended with ${code}: ${err}`)
    return this.show()
  }

  show(): Promise<RunView> {
    return this.json<RunView>('show', 'last')
  }

  /** The newest run, once this holds of it. */
  async until(what: string, holds: (view: RunView) => boolean): Promise<RunView> {
    let found: RunView | undefined
    const look = async () => {
      const view = await this.show()
      if (holds(view)) found = view
      return found !== undefined
    }
    await until(what, look, clisLimits.waitMs)
    return found!
  }

  /** A file of the result; undefined if it is not there. */
  result({ result }: RunView, file: string): string | undefined {
    if (!result?.files.includes(file)) return undefined
    return this.git('show', `${result.branch}:${file}`)
  }

  /** Processes of turns that are still there, as command lines. */
  leftovers(): readonly string[] {
    return this.#processes('PARLEY_TURN=').map(pid => read(`/proc/${pid}/cmdline`).replaceAll('\0', ' '))
  }

  /** Those of this world, with this in their environment. */
  #processes(mark: string): readonly string[] {
    const own = `HOME=${this.home}\0`
    return readdirSync('/proc')
      .filter(name => /^\d+$/.test(name))
      .filter(pid => {
        const environment = `${read(`/proc/${pid}/environ`)}\0`
        return environment.includes(own) && environment.includes(mark)
      })
  }

  async close(keep: boolean): Promise<void> {
    try {
      if (existsSync(join(this.env.PARLEY_HOME!, 'default', 'node.json'))) await this.parley('down')
    } finally {
      // A node that was busy with a turn may not have ended yet.
      for (const pid of this.#processes('')) end(Number(pid))
      await until('end of a world', () => this.#processes('').length === 0)
      await this.server.close()
      if (!keep) rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 })
    }
  }
}

function worlds(): string {
  const folder = join(cacheFolder(), 'worlds')
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  return folder
}

const RUNTIME = '--disable-warning=ExperimentalWarning'

function end(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended by itself.
  }
}

function read(file: string): string {
  try {
    return readFileSync(file, 'latin1')
  } catch {
    return ''
  }
}

/** Looks until it holds. */
export async function until(what: string, holds: () => boolean | Promise<boolean>, ms: number = clisLimits.goneMs) {
  const end = performance.now() + ms
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`no ${what} in ${ms / 1000} s`)
    await new Promise(resolve => setTimeout(resolve, clisLimits.lookMs))
  }
}
