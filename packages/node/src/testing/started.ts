// A node in the test's own process, with a scripted coordinator, and clients that reach it over its real socket.
import { mkdirSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { commandKind } from '@parley/agents'
import { type Client, connectClient, connectUnix } from '@parley/call'
import { type Clock, unwrap } from '@parley/core'
import { onTestFinished } from 'vitest'
import { Node, type NodeOptions } from '../node.ts'
import type { NodeOperations } from '../operations/index.ts'
import type { Environment } from '../profile/paths.ts'
import type { StartedBy } from '../reach/node-file.ts'
import { type Ground, ground, keptLog } from './ground.ts'
import { ScriptedCoordinator } from './scripted-coordinator.ts'

export interface StartOptions {
  readonly place?: Ground
  readonly startedBy?: StartedBy
  readonly clock?: Clock
  readonly flags?: Readonly<Record<string, string>>
  /** Which presets are on the node's PATH, with the version that each prints; all of them, without one, by default. */
  readonly presets?: Readonly<Record<string, string>>
  /** Added to the node's environment. */
  readonly env?: Environment
  readonly http?: Pick<NodeOptions, 'mounts' | 'httpBounds'>
}

export interface Started {
  readonly place: Ground
  readonly node: Node
  readonly coordinator: ScriptedCoordinator
  readonly log: ReturnType<typeof keptLog>
  readonly client: Client<NodeOperations>
  connect(): Client<NodeOperations>
}

export async function startedNode(options: StartOptions = {}): Promise<Started> {
  const { place = ground(), startedBy = 'up', clock, flags, presets } = options
  const config = place.config(flags)
  const log = keptLog()
  let coordinator: ScriptedCoordinator | undefined
  const node = unwrap(
    await Node.start({
      config,
      log,
      startedBy,
      env: { ...place.env, PATH: withPresets(place, presets), ...options.env },
      ...(clock && { clock }),
      ...options.http,
      conduct: async given => {
        coordinator = new ScriptedCoordinator(given)
        return coordinator
      },
    }),
  )
  const clients: Client<NodeOperations>[] = []
  const connect = () => {
    const client = connectClient<NodeOperations>({
      dial: () => connectUnix(config.paths.socket),
      maxAttempts: 1,
    })
    clients.push(client)
    return client
  }
  onTestFinished(async () => {
    for (const client of clients) client.close()
    coordinator!.closing = Promise.resolve()
    await node.stop('the test is over')
  })
  return { place, node, coordinator: coordinator!, log, client: connect(), connect }
}

/** A PATH on which presets have programs, so that a run of one may start; the coordinator here runs none of them. */
function withPresets({ home, env }: Ground, presets?: Readonly<Record<string, string>>): string {
  const folder = join(home, 'programs')
  mkdirSync(folder, { recursive: true })
  for (const name of Object.keys(commandKind.ready ?? {})) {
    if (presets && !Object.hasOwn(presets, name)) continue
    writeFileSync(join(folder, name), `#!/bin/sh\necho ${presets?.[name] ?? ''}\n`, { mode: 0o755 })
  }
  return [folder, env.PATH].join(delimiter)
}
