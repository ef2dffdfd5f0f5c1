// A node in the test's own process, with a scripted coordinator, and clients that reach it over its real socket.
import { mkdirSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { type DetectedPreset, presetNames } from '@parley/agents'
import { type Client, connectClient, connectUnix } from '@parley/call'
import { type Clock, unwrap } from '@parley/core'
import { onTestFinished } from 'vitest'
import { Node } from '../node.ts'
import type { StartedBy } from '../node-file.ts'
import type { NodeOperations } from '../operations/index.ts'
import type { Environment } from '../paths.ts'
import { ScriptedConductor } from './conducting.ts'
import { type Ground, ground, keptLog } from './ground.ts'

export interface StartOptions {
  readonly place?: Ground
  readonly startedBy?: StartedBy
  readonly clock?: Clock
  readonly flags?: Readonly<Record<string, string>>
  readonly presets?: readonly DetectedPreset[]
  /** Added to the node's environment. */
  readonly env?: Environment
}

export interface Started {
  readonly place: Ground
  readonly node: Node
  readonly conductor: ScriptedConductor
  readonly log: ReturnType<typeof keptLog>
  readonly client: Client<NodeOperations>
  connect(): Client<NodeOperations>
}

export async function startedNode(options: StartOptions = {}): Promise<Started> {
  const { place = ground(), startedBy = 'up', clock, flags, presets = [] } = options
  const config = place.config(flags)
  const log = keptLog()
  let conductor: ScriptedConductor | undefined
  const node = unwrap(
    await Node.start({
      config,
      log,
      startedBy,
      env: { ...place.env, PATH: withPresets(place), ...options.env },
      ...(clock && { clock }),
      detect: async () => presets,
      conduct: async given => {
        conductor = new ScriptedConductor(given)
        return conductor
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
    conductor!.closing = Promise.resolve()
    await node.stop('the test is over')
  })
  return { place, node, conductor: conductor!, log, client: connect(), connect }
}

/** A PATH on which every preset has its program, so that a run of one may start; the coordinator here runs none of them. */
function withPresets({ home, env }: Ground): string {
  const folder = join(home, 'programs')
  mkdirSync(folder, { recursive: true })
  for (const name of presetNames) writeFileSync(join(folder, name), '#!/bin/sh\n', { mode: 0o755 })
  return [folder, env.PATH].join(delimiter)
}
