// A node in a process of its own that serves ALX, for tests that kill it.
import { readFileSync, writeFileSync } from 'node:fs'
import { connectClient, connectUnix } from '@parley/call'
import { expect, onTestFinished } from 'vitest'
import type { NodeOperations } from '../operations/index.ts'
import type { Ground } from './ground.ts'
import { nodeProcess } from './process.ts'

const WAIT = { timeout: 20_000 }

/** Two tasks of plain commands; the second waits for a file. */
export const waitingTeam = (gate: string): string => `version: 1
name: two
approval: none
agents:
  first: { command: [sh, -c, "echo first is done"] }
  second: { command: [sh, -c, "while [ ! -e ${gate} ]; do sleep 0.05; done; echo second is done"] }
plan:
  - { id: one, title: The first, agent: first, prompt: Do it. }
  - { id: two, title: The second, agent: second, prompt: Do it., needs: [one] }
`

/** The profile is one of `alxProfile`. The first node takes a port that is free, and each later one the same. */
export async function alxProcess(place: Ground) {
  const config = place.path('default', 'config.yaml')
  const text = readFileSync(config, 'utf8')
  if (!text.includes('\nhttp:')) writeFileSync(config, `${text}http: { on: true, port: 0 }\n`)
  const running = nodeProcess(place)
  await running.up()
  const client = connectClient<NodeOperations>({
    dial: () => connectUnix(place.config().paths.socket),
    maxAttempts: 1,
  })
  onTestFinished(() => client.close())
  await expect.poll(async () => (await client.call('node', 'status', {})).http?.at, WAIT).toBeTruthy()
  const at = (await client.call('node', 'status', {})).http!.at!
  writeFileSync(config, readFileSync(config, 'utf8').replace('port: 0 }', `port: ${at.split(':').at(-1)} }`))
  return {
    client,
    base: `${at}/alx`,
    kill: async () => {
      running.child.kill('SIGKILL')
      await running.ended()
      client.close()
    },
  }
}
