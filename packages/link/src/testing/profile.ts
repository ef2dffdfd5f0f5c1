// A whole profile for tests: the service on real files below a temporary home, behind a real server on both transports.
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { type Clock, ManualClock } from '@parley/core'
import { onTestFinished } from 'vitest'
import { openLedger } from '../budget/ledger-file.ts'
import { LinkClient } from '../client/client.ts'
import type { Target } from '../client/target.ts'
import { ReplayJournal } from '../envelope/replay-journal.ts'
import type { DropReason } from '../envelope/verify.ts'
import { linkPaths } from '../identity/files.ts'
import type { LinkIdentity } from '../identity/identity.ts'
import type { WireObject, WireValue } from '../json/value.ts'
import { linkDefaults } from '../limits.ts'
import type { NewPeer } from '../peers/peer.ts'
import { LinkServer } from '../server/server.ts'
import { LinkService, type LinkServiceOptions } from '../service/service.ts'
import type { Carrier } from '../transport/channel.ts'
import { vectorClock } from './clock.ts'
import { temporaryFolder, writeKeys } from './homes.ts'
import { owner, ScriptedRuns } from './scripted-runs.ts'
import { identityOf } from './vectors.ts'

const EVERYTHING = ['link.ping', 'link.ask', 'link.cancel']

export interface ProfileOptions extends Partial<Omit<LinkServiceOptions, 'runs'>> {
  readonly runs?: ScriptedRuns
  /** Whether the node is ready for runs. */
  readonly ready?: () => boolean
  /** Who is pinned at the start, with what it may call. */
  readonly pinned?: Readonly<Record<string, Partial<NewPeer>>>
  readonly name?: string
}

export class Profile {
  readonly home: string
  readonly name: string
  readonly identity: LinkIdentity
  readonly clock: Clock
  readonly paths: ReturnType<typeof linkPaths>
  readonly runs: ScriptedRuns
  readonly dropped: DropReason[] = []
  readonly failed: string[] = []
  dailyUsd: unknown
  elapsedMs = 0
  service!: LinkService
  server!: LinkServer
  #journal!: ReplayJournal

  static async start(options: ProfileOptions = {}): Promise<Profile> {
    const profile = new Profile(options)
    await profile.open(options)
    for (const [name, peer] of Object.entries(options.pinned ?? { alice: {} })) await profile.pin(name, peer)
    return profile
  }

  private constructor({ home, name = 'bob', clock = vectorClock(), runs = new ScriptedRuns() }: ProfileOptions) {
    this.home = home ?? temporaryFolder()
    this.name = name
    this.clock = clock
    this.identity = identityOf(name)
    this.runs = runs
    this.paths = linkPaths(this.home)
    writeKeys(this.home, name)
    mkdirSync(dirname(this.paths.replay), { recursive: true })
  }

  /** Opens the files and listens; again after `shut`, as a new process would. */
  async open({ ready = () => true, runs: _, ...options }: ProfileOptions = {}): Promise<void> {
    const log = {
      dropped: (reason: DropReason) => void this.dropped.push(reason),
      failed: (what: string, cause: unknown) => void this.failed.push(`${what}: ${String(cause)}`),
    }
    this.service = new LinkService({
      profile: this.name,
      runs: () => (ready() ? this.runs : undefined),
      owner,
      ledger: openLedger(this.paths.ledger, {
        clock: this.clock,
        cap: () => this.dailyUsd,
        failed: log.failed,
        ...(options.disk && { disk: options.disk }),
      }),
      elapsed: () => this.elapsedMs,
      log,
      ...options,
      home: this.home,
      clock: this.clock,
    })
    this.#journal = ReplayJournal.open(this.paths.replay, { clock: this.clock })
    this.server = await LinkServer.start({
      identity: this.identity,
      clock: this.clock,
      journal: this.#journal,
      socket: this.paths.socket,
      tcp: { host: '127.0.0.1', port: 0 },
      pins: this.service.pins,
      handler: this.service.handler,
      log,
    })
    onTestFinished(() => this.shut())
  }

  async shut(): Promise<void> {
    const closing = this.service.close().then(() => this.server.close())
    this.pass(linkDefaults.closeMs)
    await closing
    this.#journal.close()
  }

  async pin(name: string, peer: Partial<NewPeer> = {}): Promise<void> {
    const pinned = await this.service.pin({
      id: name,
      pubkey: identityOf(name).id,
      allow: EVERYTHING,
      ...peer,
    })
    if (!pinned.ok) throw pinned.error
  }

  /** Writes the list as a person would. */
  editPeers(text: string): void {
    writeFileSync(this.paths.peers, text)
  }

  pass(milliseconds: number): void {
    if (this.clock instanceof ManualClock) this.clock.advance(milliseconds)
  }

  target(carrier: Carrier = 'unix'): Target {
    return {
      identity: this.identity.id,
      at: carrier === 'unix' ? { path: this.paths.socket } : { host: '127.0.0.1', port: this.server.port! },
    }
  }

  client(name = 'alice'): LinkClient {
    return new LinkClient({ identity: identityOf(name), clock: this.clock })
  }

  /** An ask whose chunks are kept; `said` is what it came to. */
  async streamed(prompt = 'hi', carrier: Carrier = 'unix') {
    const chunks: WireObject[] = []
    const onChunk = (chunk: WireValue) => void chunks.push(chunk as WireObject)
    const params = { prompt, stream: true }
    return { chunks, said: await this.client().call(this.target(carrier), 'link.ask', params, { onChunk }) }
  }

  /** What a call comes to: the result, or the peer's error, or the code of a failure of ours. */
  async call(method: string, params = {}, { as = 'alice', carrier = 'unix' as Carrier } = {}): Promise<unknown> {
    const said = await this.client(as).call(this.target(carrier), method, params)
    if (said.ok) return said.value
    return said.error.where === 'remote' ? { error: said.error.error } : said.error.error.code
  }
}
