// A coordinator on a real trail and a real git repository, with agents that are functions of the test.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type AgentFunction, type CommandSettings, commandKind, functionAdapter } from '@parley/agents'
import {
  type GateDecision,
  type Principal,
  type QuestionAnswer,
  type Result,
  type RunId,
  type RunRequest,
  SystemClock,
  type TurnInput,
  unwrap,
} from '@parley/core'
import { openTrail, Trail } from '@parley/trail'
import type { EventType } from '@parley/trail/events'
import { type memoryDisks, openMemoryStore } from '@parley/trail/testing'
import { onTestFinished } from 'vitest'
import type { CoordinatorOptions, TeamSetup, WantedAdapter } from '../contract.ts'
import { Coordinator } from '../coordinator.ts'
import type { Machine } from '../machine/machine.ts'
import { readTeam } from '../team/testing/teams.ts'
import { isOver, type RunView } from '../view/view.ts'

export const alice: Principal = { id: 'alice', kind: 'user', scopes: ['owner'] }

export type Scripts = Readonly<Record<string, AgentFunction>>

export type SolveOptions = Partial<Omit<RunRequest & TeamSetup, 'team'>>

export class Fixture {
  readonly folder: string
  readonly project: string
  readonly profile: string
  scripts: Scripts
  trail!: Trail
  coordinator!: Coordinator
  readonly logged: string[] = []
  /** What adapters were made for. */
  readonly wanted: WantedAdapter[] = []
  abandon: CoordinatorOptions['abandon']
  machine: Machine | undefined
  /** Runs of one principal at once. */
  runs: number | undefined
  /** Entries of a library run. */
  libraryEntries: number | undefined
  /** The trail's, where a test wants to see them fail. */
  disks: ReturnType<typeof memoryDisks> | undefined

  private constructor(scripts: Scripts) {
    this.folder = mkdtempSync(join(tmpdir(), 'parley-coordinator-'))
    this.project = join(this.folder, 'project')
    this.profile = join(this.folder, 'profile')
    this.scripts = scripts
  }

  static async open(
    scripts: Scripts = {},
    parts: Partial<Pick<Fixture, 'machine' | 'disks' | 'runs' | 'libraryEntries'>> = {},
  ): Promise<Fixture> {
    const fixture = new Fixture(scripts)
    Object.assign(fixture, parts)
    mkdirSync(fixture.project)
    fixture.git('init', '--quiet', '--initial-branch=main')
    fixture.write('README.md', 'A project.\n')
    fixture.commit('first')
    onTestFinished(() => fixture.dispose())
    await fixture.start()
    return fixture
  }

  async start(): Promise<void> {
    this.trail = this.disks ? new Trail({ store: await openMemoryStore(this.disks) }) : await openTrail(this.profile)
    this.coordinator = await Coordinator.open({
      trail: this.trail,
      profile: this.profile,
      secret: Buffer.alloc(32, 7),
      adapter: wanted => {
        const { name, base, log, check } = wanted
        const agent: CommandSettings = wanted.agent
        this.wanted.push(wanted)
        const host = { clock: new SystemClock(), environment: process.env, base, log, check }
        return agent.command?.[0] === 'scripted'
          ? functionAdapter(name, this.#script(agent.command[1] ?? name))
          : commandKind.adapter(name, agent, host)
      },
      worksWithoutFolder: agent => agent.command === undefined || (agent.command as string[])[0] === 'scripted',
      ...(this.abandon && { abandon: this.abandon }),
      ...(this.machine && { machine: this.machine }),
      ...(this.runs !== undefined && { runs: this.runs }),
      ...(this.libraryEntries !== undefined && { libraryEntries: this.libraryEntries }),
      log: (level, message) => this.logged.push(`${level} ${message}`),
    })
  }

  #script(name: string): AgentFunction {
    return (input, emit) => {
      const script = this.scripts[name]
      if (!script) throw new Error(`there is no script ${name}`)
      return script(input, emit)
    }
  }

  async stop(): Promise<void> {
    await this.coordinator.close()
    await this.trail.close()
  }

  async restart(): Promise<void> {
    await this.stop()
    await this.start()
  }

  async dispose(): Promise<void> {
    await this.stop()
    rmSync(this.folder, { recursive: true, force: true })
  }

  git(...args: string[]): string {
    return execFileSync('git', ['-c', 'user.name=Test', '-c', 'user.email=test@localhost', ...args], {
      cwd: this.project,
      encoding: 'utf8',
    })
  }

  write(path: string, text: string): void {
    put(this.project, path, text)
  }

  commit(message: string): void {
    this.git('add', '-A')
    this.git('commit', '--quiet', '-m', message)
  }

  /** Starts a team; its YAML names scripts as `command: [scripted, name]`. */
  async solve(yaml: string, options: SolveOptions = {}): Promise<RunId> {
    return unwrap(await this.trySolve(yaml, options)).run
  }

  trySolve(yaml: string, options: SolveOptions): Promise<Result<{ readonly run: RunId }>> {
    const { intent = 'Do it.', approved = true, ...rest } = options
    const project = 'project' in options ? options.project : this.project
    const all = { intent, principal: alice, origin: 'test', ...rest }
    return this.coordinator.start(all, { ...all, team: unwrap(readTeam(yaml)), project, approved })
  }

  async until(run: RunId, holds: (view: RunView) => boolean): Promise<RunView> {
    for await (const view of this.coordinator.views.follow(run)) if (holds(view) || isOver(view.state)) return view
    throw new Error('the run is not followed any more')
  }

  over(run: RunId): Promise<RunView> {
    return this.until(run, view => isOver(view.state))
  }

  /** Alice answers a gate. */
  async respond(gate: string, decision: GateDecision): Promise<void> {
    unwrap(await this.coordinator.gates.respond(gate, { ...decision, principal: alice }))
  }

  /** Alice answers a question. */
  async reply(question: string, answer: QuestionAnswer): Promise<void> {
    unwrap(await this.coordinator.gates.reply(question, { ...answer, principal: alice }))
  }

  /** Alice ends a run, or the work on a task. */
  async abort(
    run: RunId,
    why: { readonly task?: string; readonly reason: string; readonly grace?: number },
  ): Promise<void> {
    unwrap(await this.coordinator.interventions.abort(run, { ...why, principal: alice }))
  }

  /** Starts a team and answers with the view of its end. */
  async finished(yaml: string, options: SolveOptions = {}): Promise<RunView> {
    return this.over(await this.solve(yaml, options))
  }

  /** What is on record of a run: all of it, or what has one of these types. */
  async entries(run: string, ...types: EventType[]) {
    const filter = types.length > 0 ? { event_type: types } : {}
    return unwrap(await this.trail.run(run as RunId).query({ ...filter, limit: 1000 })).entries
  }

  /** A file of the integrated result. */
  result(view: RunView, path: string): string | undefined {
    const { branch } = view.result ?? {}
    if (branch === undefined) return undefined
    try {
      return this.git('show', `${branch}:${path}`)
    } catch {
      return undefined
    }
  }

  /** What is left of workspaces: their folders, and the repositories behind them. */
  leftovers(): string[] {
    const runs = join(this.profile, 'runs')
    return readdirSync(runs, { recursive: true, encoding: 'utf8' }).filter(path =>
      /^[^/]+\/(work|repositories|new)\/[^/]+$/.test(path),
    )
  }

  has(path: string): boolean {
    return existsSync(join(this.project, path))
  }
}

/** A team of one scripted agent without a plan. */
export function solo(agent: string): string {
  return `version: 1\nname: solo\nagents:\n  ${agent}: { command: [scripted, ${agent}] }\n`
}

/** A team with a plan. Each agent that a task names is the script of that name. */
export function planned(...tasks: readonly string[]): string {
  const named = tasks.join('\n').matchAll(/\b(?:agent|by|fallback): ([\w-]+)/g)
  const agents = [...new Set([...named].map(([, name]) => `  ${name}: { command: [scripted, ${name}] }\n`))]
  return `version: 1\nname: team\nagents:\n${agents.join('')}plan:\n${tasks.map(task => `  - ${task}\n`).join('')}`
}

/** What an answer that refuses looks like. */
export function refusal(code: string) {
  return { ok: false, error: { code } }
}

/** A script that writes a line to a file. */
export function writes(path: string, text = path): (input: TurnInput) => string {
  return input => {
    put(input.folder!, path, `${text}\n`)
    return `wrote ${path}`
  }
}

/** Resolves when a turn is ended from outside. */
export function aborted(input: TurnInput): Promise<string> {
  return new Promise(resolve => input.signal.addEventListener('abort', () => resolve('ended')))
}

/** A script that is only ended from outside, and its first turn once that has begun. */
export function hanging() {
  const begun = Promise.withResolvers<TurnInput>()
  const script = (input: TurnInput) => {
    begun.resolve(input)
    return aborted(input)
  }
  return { script, begun: begun.promise }
}

export function put(folder: string, path: string, text: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true })
  writeFileSync(join(folder, path), text)
}
