// An ALX server as a node has it: HTTP on loopback, a real coordinator over a real trail and library in a temporary
// folder, agents that are functions of the test. What the sheet injects is injected: selector, executor, clock.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  ALX_PROTOCOL_VERSION,
  type Capability,
  type KbEnvelope,
  kbHashFromEnvelope,
  protocolErrorOf,
  type RunEvent,
  type SolveArtifact,
  type SolveResponse,
} from '@alx/protocol'
import { type AgentFunction, functionAdapter, functionKind } from '@parley/agents'
import { Coordinator, coordinatorRunPort, type RunSetup, type Team, teamReader } from '@parley/coordinator'
import {
  ok,
  type Principal,
  type Result,
  type RunId,
  type RunPort,
  type RunRequest,
  refuse,
  SystemIds,
  unwrap,
} from '@parley/core'
import { openTrail, type Trail } from '@parley/trail'
import Fastify, { type FastifyInstance, type FastifyReply } from 'fastify'
import { onTestFinished } from 'vitest'
import { alxPlugin } from '../http/plugin.ts'
import { ALX_SCOPES, type Authenticate } from '../http/scopes.ts'
import { Knowledge } from '../kb/knowledge.ts'
import type { TeamOutline } from '../kb/procedure.ts'
import type { ArtifactCandidate, ExecutionPlan, PlannedStep, SelectionRequest } from '../ports.ts'
import { readSolveFacts, type SolveFacts, type StoredStep } from '../run/facts.ts'
import { AlxServer } from '../server/alx-server.ts'
import type { AlxSettings } from '../settings.ts'
import { MemoryKnowledge } from './memory-knowledge.ts'
import { TravelClock } from './travel-clock.ts'

const user = (id: string, scopes: readonly string[] = ALX_SCOPES): Principal => ({ id, kind: 'user', scopes })
export const U = user('U')
export const V = user('V')
const self: Principal = { id: 'alx', kind: 'system', scopes: ['owner'] }

const { read: readTeam } = teamReader([functionKind])

export const INTENT = { verb: 'deploy', target: 'api', domain: 'engineering' }

export interface FixtureOptions {
  /** Steps of the executor's plan. */
  readonly steps?: readonly PlannedStep[]
  readonly capabilities?: readonly Capability[]
  readonly settings?: Partial<AlxSettings>
  readonly authenticated?: boolean
  /** More of the team file. */
  readonly team?: string
  readonly wrap?: (port: RunPort) => RunPort
  /** Instead of `candidates` and `plan`, where they depend on what is asked. */
  readonly select?: (request: SelectionRequest) => readonly ArtifactCandidate[]
  readonly planOf?: (request: SelectionRequest) => ExecutionPlan
  /** Real blocks, selection and planning; the team of a domain. */
  readonly teamOf?: (domain: string) => TeamOutline | undefined
}

export interface Reply<T = Record<string, unknown>> {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly body: T
}

export interface Frame {
  readonly event: string
  readonly id: string | undefined
  readonly data: Record<string, unknown>
}

export class AlxFixture {
  readonly clock = new TravelClock()
  readonly knowledge = new MemoryKnowledge()
  readonly logged: { readonly message: string; readonly facts: object | undefined }[] = []
  readonly selections: SelectionRequest[] = []
  /** By the id of their task. */
  scripts: Record<string, AgentFunction> = {}
  turns = 0
  candidates: readonly ArtifactCandidate[] | (() => never) = [candidate(0.9)]
  plan: ExecutionPlan
  coordinator!: Coordinator
  trail!: Trail
  server!: AlxServer
  blocks: Knowledge | undefined
  #http!: FastifyInstance
  readonly #folder = mkdtempSync(join(tmpdir(), 'parley-alx-'))
  readonly #options: FixtureOptions

  private constructor(options: FixtureOptions) {
    this.#options = options
    this.plan = { kind: 'steps', steps: options.steps ?? [step('one'), step('two')] }
  }

  static async open(options: FixtureOptions = {}): Promise<AlxFixture> {
    const fixture = new AlxFixture(options)
    onTestFinished(async () => {
      await fixture.stop()
      rmSync(fixture.#folder, { recursive: true, force: true })
    })
    await fixture.start()
    return fixture
  }

  async start(): Promise<void> {
    const { clock } = this
    const log = (_level: string, message: string, facts?: object) => void this.logged.push({ message, facts })
    this.trail = await openTrail(this.#folder)
    this.coordinator = await Coordinator.open({
      trail: this.trail,
      profile: this.#folder,
      secret: Buffer.alloc(32, 7),
      clock,
      adapter: ({ name, agent }) => functionAdapter(name, this.#script(String(agent.function)), { clock }),
      worksWithoutFolder: () => true,
      log: () => undefined,
    })
    for (const { id } of [U, V]) unwrap(await this.coordinator.users.accept(user(id, ['owner']), 'test'))
    const { coordinator, trail } = this
    const { teamOf, select, planOf } = this.#options
    const indexFile = join(this.#folder, 'alx.index.db')
    this.blocks =
      teamOf &&
      (await Knowledge.open({
        ...{ library: coordinator.library, clock, ids: new SystemIds(), indexFile },
        minConfidence: 0.35,
        teamOf,
      }))
    const setup = async (request: RunRequest) => this.#setup(request)
    const port = coordinatorRunPort({ coordinator, trail, setup, costUnknown: () => false })
    this.server = new AlxServer({
      runs: this.#options.wrap?.(port) ?? port,
      library: coordinator.library,
      selector: (!select && this.blocks?.selector) || {
        select: async request => {
          this.selections.push(request)
          if (select) return select(request)
          return typeof this.candidates === 'function' ? this.candidates() : this.candidates
        },
      },
      executor: (!planOf && this.blocks?.executor) || {
        plan: async (_artifact, request) => ok(planOf?.(request) ?? this.plan),
      },
      knowledge: this.blocks ?? this.knowledge,
      self,
      log,
      clock,
      ...(this.#options.settings && { settings: this.#options.settings }),
      ...(this.#options.capabilities && { capabilities: this.#options.capabilities }),
    })
    const { authenticated = true } = this.#options
    const { server } = this
    this.#http = Fastify({
      routerOptions: { maxParamLength: 200 },
      return503OnClosing: false,
      frameworkErrors: (_error, _request, reply) => unreadable(reply as unknown as FastifyReply, server),
    })
    await this.#http.register(alxPlugin, { prefix: '/alx', server, ...(authenticated && { authenticate }) })
    await this.#http.listen({ host: '127.0.0.1', port: 0 })
  }

  async stop(): Promise<void> {
    await this.#http.close()
    await this.blocks?.close()
    await this.coordinator.close()
    await this.trail.close()
  }

  async restart(): Promise<void> {
    await this.stop()
    await this.start()
  }

  get url(): string {
    const address = this.#http.server.address()
    return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/alx`
  }

  #script(task: string): AgentFunction {
    return (input, emit) => {
      this.turns++
      return this.scripts[task]?.(input, emit) ?? `${task} is done`
    }
  }

  #setup({ context }: RunRequest): Result<RunSetup> {
    const facts = readSolveFacts(context ?? {})
    if (!facts) return refuse('invalid_argument', 'This is no solve.')
    const { refusal, result } = facts
    if (refusal) return ok({ ends: { outcome: 'failed', code: refusal.code, message: refusal.message } })
    if (result !== undefined) return ok({ ends: { outcome: 'complete', text: result } })
    return ok({ team: this.#team(facts), approved: true, approvalMs: 86_400_000 })
  }

  /** Of two candidates, each is a delegate, and the second stands in for the first. */
  #team({ attempts }: SolveFacts): Team {
    const steps = attempts.map(({ steps }) => steps.filter(({ skipped }) => skipped === undefined))
    const agents = [...new Set(steps.flat().map(({ id }) => `  ${id}: { function: ${id} }\n`))]
    const [only, second] = steps.map(each => each.map(row).map(text => `{ ${text} }`))
    const ways = [only, second].map(
      (plan, at) => `  - { id: attempt-${at}, title: Way ${at}, prompt: Do it., plan: [${plan?.join(', ')}] }\n`,
    )
    const plan = second ? ways : (only ?? []).map(text => `  - ${text}\n`)
    const more = this.#options.team ?? 'limits: { attempts: 1 }\n'
    const yaml = `version: 1\nname: team\nagents:\n${agents.join('')}plan:\n${plan.join('')}${more}`
    const team = unwrap(readTeam(yaml))
    const [first, other] = team.plan
    return other?.plan && second ? { ...team, plan: [first!, { ...other, standsInFor: first!.id }] } : team
  }

  async call<T = Record<string, unknown>>(
    method: string,
    path: string,
    { body, headers = {}, as = U, raw }: CallOptions = {},
  ): Promise<Reply<T>> {
    const json = raw ?? (body === undefined ? undefined : JSON.stringify(body))
    const response = await fetch(this.url + path, {
      method,
      headers: {
        ...(as && { authorization: `Bearer ${as.id}` }),
        ...(json !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(json !== undefined && { body: json }),
    })
    const text = await response.text()
    const isJson = response.headers.get('content-type')?.startsWith('application/json')
    return { status: response.status, headers: response.headers, text, body: (isJson ? JSON.parse(text) : {}) as T }
  }

  get<T = Record<string, unknown>>(path: string, options?: CallOptions) {
    return this.call<T>('GET', path, options)
  }

  post<T = Record<string, unknown>>(path: string, body: unknown = {}, options: CallOptions = {}) {
    return this.call<T>('POST', path, { ...options, body })
  }

  solve(more: Record<string, unknown> = {}, options?: CallOptions) {
    return this.post<SolveResponse>('/v1/solve', { intent: INTENT, ...more }, options)
  }

  async events(run: string): Promise<readonly RunEvent[]> {
    const { body } = await this.get<{ events: readonly RunEvent[] }>(`/v1/runs/${run}/events`)
    return body.events
  }

  /** What is on record of a run. */
  async entries(run: string, ...types: string[]) {
    const { entries } = unwrap(await this.trail.run(run as RunId).query({ limit: 1000 }))
    return types.length === 0 ? entries : entries.filter(({ event_type }) => types.includes(event_type))
  }
}

/** A path that no router can read never reaches the plugin: the host answers, in an envelope too. */
function unreadable(reply: FastifyReply, { protocol }: AlxServer): void {
  const error = protocolErrorOf('INVALID_REQUEST', 'The path cannot be read.')
  const correlationId = 'req_0000000000000000'
  const headers = { 'x-correlation-id': correlationId, 'x-alx-protocol-version': ALX_PROTOCOL_VERSION }
  const answer = reply.code(400).headers({ ...headers, 'cache-control': 'no-store' })
  void answer.send({ ok: false, correlationId, protocol, error })
}

/** A task of a plan in which each needs the one before it. */
function row({ stepId, id, name, approve }: StoredStep, at: number, all: readonly StoredStep[]): string {
  const needs = at === 0 ? '' : `, needs: [${all[at - 1]!.stepId}]`
  return `id: ${stepId}, title: ${name}, agent: ${id}, prompt: Do it.${needs}${approve ? ', approve: true' : ''}`
}

interface CallOptions {
  readonly body?: unknown
  readonly raw?: string
  readonly headers?: Readonly<Record<string, string>>
  /** `null`: no credentials. */
  readonly as?: Principal | null
}

const TOKENS: ReadonlyMap<string, Principal> = new Map([
  ...[U, V].map(each => [`Bearer ${each.id}`, each] as const),
  ['Bearer reader', user('U', ['read'])],
])

const authenticate: Authenticate = async ({ headers: { authorization } }) => {
  if (authorization === undefined) return { refused: 'missing' }
  const principal = TOKENS.get(authorization)
  return principal ? { principal } : { refused: 'invalid' }
}

export function step(id: string, more: Partial<PlannedStep> = {}): PlannedStep {
  return { id, name: `Step ${id}`, ...more }
}

/** A candidate: a procedure of this name. */
export function candidate(confidence: number, name = 'first', more: Partial<SolveArtifact> = {}): ArtifactCandidate {
  const payload = { type: 'procedure', name }
  const envelope: KbEnvelope = { type: 'procedure', domain: 'engineering', sources: [], tier: 'restricted', payload }
  const kbHash = kbHashFromEnvelope(envelope)
  const artifact: SolveArtifact = {
    artifactId: kbHash,
    kbHash,
    type: 'procedure',
    domain: 'engineering',
    tier: 'restricted',
    sources: [],
    origin: 'selected',
    payload,
    ...more,
  }
  return { artifact, confidence, parts: { exact: confidence } }
}

/** The frames of a stream that has ended. */
export function framesOf(text: string): readonly Frame[] {
  return text
    .split('\n\n')
    .filter(block => block.startsWith('event: '))
    .map(block => {
      const lines = new Map(
        block.split('\n').map(line => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
      )
      return { event: lines.get('event')!, id: lines.get('id'), data: JSON.parse(lines.get('data')!) }
    })
}

export const STREAM = { accept: 'text/event-stream' }
