// Knowledge Blocks and settlements as a client meets them: HTTP on loopback, a real library on a real trail in a
// temporary folder, an index in a file. No run is ever started.
import { join } from 'node:path'
import { isBaseEnvelope } from '@alx/protocol'
import { Coordinator, coordinatorRunPort } from '@parley/coordinator'
import {
  type Library,
  type LibraryRecord,
  ok,
  type Principal,
  refuse,
  SystemClock,
  SystemIds,
  unwrap,
} from '@parley/core'
import { openTrail } from '@parley/trail'
import Fastify from 'fastify'
import { expect, onTestFinished } from 'vitest'
import { alxPlugin } from '../http/plugin.ts'
import { ALX_SCOPES, type Authenticate } from '../http/scopes.ts'
import { Knowledge, type KnowledgeOptions } from '../kb/knowledge.ts'
import { AlxServer } from '../server/alx-server.ts'
import { temporaryFolder, user } from './knowledge.ts'

export const OWNER = user('the-owner', ...ALX_SCOPES, 'owner')
const USERS: ReadonlyMap<string, Principal> = new Map(
  [...['U', 'V', 'cur-a', 'cur-b', 'cur-q'].map(id => user(id, ...ALX_SCOPES)), OWNER].map(each => [each.id, each]),
)

export interface Reply {
  readonly status: number
  /** `error.code`, if there is one. */
  readonly code: string | undefined
  readonly body: Record<string, unknown>
}

export class KbServer {
  readonly #folder: string
  readonly #options: Partial<KnowledgeOptions>
  knowledge!: Knowledge
  #coordinator!: Coordinator
  #url = ''
  #stop = async () => {}

  private constructor(folder: string, options: Partial<KnowledgeOptions>) {
    this.#folder = folder
    this.#options = options
  }

  static async open(options: Partial<KnowledgeOptions> = {}): Promise<KbServer> {
    const server = new KbServer(await temporaryFolder(), options)
    await server.#start()
    onTestFinished(() => server.#stop())
    return server
  }

  /** Everything is closed and opened again: what was not on record is gone. */
  async restart(options: Partial<KnowledgeOptions> = {}): Promise<void> {
    Object.assign(this.#options, options)
    await this.#stop()
    await this.#start()
  }

  async #start(): Promise<void> {
    const clock = new SystemClock()
    const trail = await openTrail(this.#folder)
    const coordinator = await Coordinator.open({
      trail,
      profile: this.#folder,
      secret: Buffer.alloc(32, 7),
      clock,
      adapter: () => {
        throw new Error('nobody works here')
      },
      log: () => undefined,
    })
    for (const { id } of USERS.values()) unwrap(await coordinator.users.accept(user(id, 'owner'), 'test'))
    const { library } = coordinator
    const indexFile = join(this.#folder, 'alx.index.db')
    const base = { library, clock, ids: new SystemIds(), indexFile, minConfidence: 0.35 }
    const knowledge = await Knowledge.open({ ...base, ...this.#options })
    const setup = async () => refuse('invalid_argument', 'Nothing is run here.')
    const server = new AlxServer({
      runs: coordinatorRunPort({ coordinator, trail, setup, costUnknown: () => false }),
      library,
      selector: knowledge.selector,
      executor: { plan: async () => ok({ kind: 'none', result: '' }) },
      knowledge,
      self: { id: 'alx', kind: 'system', scopes: ['owner'] },
      log: () => undefined,
    })
    const http = Fastify({ routerOptions: { maxParamLength: 200 }, return503OnClosing: false })
    const authenticate: Authenticate = async ({ headers: { authorization = '' } }) => {
      const principal = USERS.get(authorization.replace('Bearer ', ''))
      return principal ? { principal } : { refused: 'invalid' }
    }
    await http.register(alxPlugin, { prefix: '/alx', server, authenticate })
    this.#url = `${await http.listen({ host: '127.0.0.1', port: 0 })}/alx`
    this.knowledge = knowledge
    this.#coordinator = coordinator
    this.#stop = async () => {
      await http.close()
      await knowledge.close()
      await coordinator.close()
      await trail.close()
      this.#stop = async () => {}
    }
  }

  get library(): Library {
    return this.#coordinator.library
  }

  /** What is on record. */
  async records(): Promise<readonly LibraryRecord[]> {
    const records: LibraryRecord[] = []
    for await (const record of this.library.read()) records.push(record)
    return records
  }

  get(path: string, as = 'U'): Promise<Reply> {
    return this.#call('GET', path, as)
  }

  post(path: string, body: unknown, as = 'U'): Promise<Reply> {
    return this.#call('POST', path, as, body)
  }

  register(envelope: object, more: object = {}, as = 'U'): Promise<Reply> {
    return this.post('/v1/kb', { envelope, ...more }, as)
  }

  async #call(method: string, path: string, as: string, body?: unknown): Promise<Reply> {
    const json = body !== undefined && { 'content-type': 'application/json' }
    const answer = await fetch(this.#url + path, {
      method,
      headers: { authorization: `Bearer ${as}`, ...json },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const read = (await answer.json()) as Record<string, unknown>
    expect(isBaseEnvelope(read, 'emit')).toBe(true)
    expect(read.ok).toBe(answer.status < 300)
    return { status: answer.status, code: (read.error as { code: string } | undefined)?.code, body: read }
  }
}
