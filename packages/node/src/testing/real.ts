// A node in the test's own process with a real coordinator, a project, and runs of one command.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { connectClient, connectUnix } from '@parley/call'
import { isOver, type RunView } from '@parley/coordinator'
import { unwrap } from '@parley/core'
import { onTestFinished } from 'vitest'
import { Node, type NodeOptions } from '../node.ts'
import type { NodeOperations } from '../operations/index.ts'
import type { Environment } from '../profile/paths.ts'
import { type Ground, keptLog } from './ground.ts'

export const TEAM = 'version: 1\nname: t\napproval: none\nagents:\n  a: { command: [sh, -c, "echo done"] }\n'

/** The folder that runs work on. */
export function project(place: Ground): string {
  const folder = join(place.home, 'project')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'a.txt'), 'a\n')
  return folder
}

export async function realNode(
  place: Ground,
  env: Environment = {},
  more: Partial<Pick<NodeOptions, 'config' | 'plan' | 'clock'>> = {},
) {
  const { config = place.config() } = more
  const log = keptLog()
  const node = unwrap(
    await Node.start({
      config,
      log,
      env: { ...place.env, ...env },
      startedBy: 'up',
      ...more,
    }),
  )
  const client = connectClient<NodeOperations>({
    dial: () => connectUnix(config.paths.socket),
    maxAttempts: 1,
  })
  onTestFinished(async () => {
    client.close()
    await node.stop('the test is over')
  })
  const start = async (text: string, environment?: Readonly<Record<string, string>>, intent = 'A thing.') => {
    const input = { intent, project: project(place), approved: true }
    const team = { text, file: join(place.home, 'parley.yaml') }
    return (await client.call('solve', 'start', { ...input, team, ...(environment && { environment }) })).run
  }
  const ended = async (run: string): Promise<RunView> => {
    for await (const view of client.subscribe('runs', 'follow', { run })) if (isOver(view.state)) return view
    throw new Error(`${run} did not end`)
  }
  const solved = async (intent: string): Promise<string> => (await ended(await start(TEAM, undefined, intent))).run
  return { node, client, log, start, ended, solved }
}
