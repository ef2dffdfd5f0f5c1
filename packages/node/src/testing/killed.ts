// What tests of killed nodes share: a project, a node of its own process, and the way from one node to the next.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { unwrap } from '@parley/core'
import { seededRandom } from '@parley/trail/testing'
import { onTestFinished } from 'vitest'
import { connectNode, type NodeConnection } from '../client.ts'
import { readNodeFile } from '../reach/node-file.ts'
import { bundled } from './bundle.ts'
import { ON_LOOPBACK } from './ground.ts'

export class KilledNodes {
  readonly folder = mkdtempSync(join(tmpdir(), 'parley-kill-'))
  readonly project = join(this.folder, 'project')
  readonly profile = join(this.folder, 'home', 'default')
  readonly #random: () => number
  connection!: NodeConnection

  constructor(seed: number) {
    this.#random = seededRandom(seed)
    for (const each of [this.project, this.profile]) mkdirSync(each, { recursive: true })
    writeFileSync(join(this.project, 'README.md'), 'A project.\n')
    onTestFinished(async () => {
      await this.client.invoke('node', 'stop', {}, { type: 'mutation' })
      this.client.close()
      rmSync(this.folder, { recursive: true, force: true })
    })
  }

  get client(): NodeConnection['client'] {
    return this.connection.client
  }

  async connect(): Promise<void> {
    const { main: entry } = await bundled()
    const env = { ...process.env, ...ON_LOOPBACK, PARLEY_HOME: join(this.folder, 'home') }
    this.connection = unwrap(await connectNode({ env, start: true, maxAttempts: 1, entry }))
  }

  async start(intent: string, text: string): Promise<string> {
    const team = { text, file: join(this.project, 'parley.yaml') }
    const input = { intent, project: this.project, team, approved: true }
    return (await this.client.invoke('solve', 'start', input)).unwrap().run
  }

  /** Within so many milliseconds. */
  async kill(latest: number): Promise<void> {
    await new Promise(resolve => setTimeout(resolve, this.#random() * latest))
    process.kill(readNodeFile(this.connection.paths.nodeFile)!.pid, 'SIGKILL')
  }
}
