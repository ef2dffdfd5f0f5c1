// A node in the test's own process that serves ALX: a real coordinator, teams of plain commands on a git project, HTTP
// on loopback, the SDK as its clients use it.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type AlxClient, createAlxClient } from '@parley/alx-client'
import type { Clock } from '@parley/core'
import { expect } from 'vitest'
import type { TokenScope } from '../http/scopes.ts'
import { type Ground, ground, repository } from './ground.ts'
import { ON, requestAt, type Sent } from './http.ts'
import { realNode } from './real.ts'

/** Two tasks of plain commands; each leaves a file. */
export const TWO_STEPS = `version: 1
name: two
approval: none
agents:
  first: { command: [sh, -c, "echo one > one.txt; echo first is done"] }
  second: { command: [sh, -c, "echo two > two.txt; echo second is done"] }
plan:
  - { id: one, title: The first, agent: first, prompt: "{intent}" }
  - { id: two, title: The second, agent: second, prompt: "{intent}", needs: [one] }
`
/** A person approves the second task. */
export const ASKED = TWO_STEPS.replace('needs: [one] }', 'needs: [one], approve: true }')

export const INTENT = { verb: 'deploy', target: 'api', domain: 'engineering' }

/** Writes a profile in which one domain has this team, and returns the folder that it works on. */
export function alxProfile(place: Ground, team = TWO_STEPS, more = ''): string {
  const folder = join(place.home, 'project')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'a.txt'), 'a\n')
  if (!existsSync(join(folder, '.git'))) repository(folder)
  place.write('default/team.yaml', team)
  place.write(
    'default/config.yaml',
    `alx:\n  domains:\n    engineering: { team: team.yaml, project: ${folder} }\n${more}`,
  )
  return folder
}

export interface AlxNodeOptions {
  readonly place?: Ground
  readonly team?: string
  /** More of the section `alx` of config.yaml, indented by two. */
  readonly more?: string
  readonly flags?: Readonly<Record<string, string>>
  readonly clock?: Clock
}

export async function alxNode({ place = ground(), team, more, flags, clock }: AlxNodeOptions = {}) {
  const project = alxProfile(place, team, more)
  const node = await realNode(
    place,
    {},
    {
      config: place.config({ ...ON, ...flags }),
      ...(clock && { clock }),
    },
  )
  const at = (await node.node.status()).http?.at
  expect(at, JSON.stringify(node.log.lines)).toBeTruthy()
  const port = Number(at!.split(':').at(-1))
  const token = async (user = 'ann', scopes: readonly TokenScope[] = ['solve', 'read', 'kb', 'settle']) =>
    (await node.client.call('tokens', 'create', { user, scopes: [...scopes] })).secret
  const sdk = (secret: string): AlxClient => createAlxClient({ baseUrl: `${at}/alx`, token: secret, maxRetries: 0 })
  return {
    ...node,
    place,
    project,
    port,
    base: `${at}/alx`,
    token,
    sdk,
    request: (path: string, sent?: Sent) => requestAt(port, path, sent),
    /** A client with a token of its own. */
    as: async (user?: string, scopes?: readonly TokenScope[]) => sdk(await token(user, scopes)),
  }
}

export function gitIn(folder: string, ...args: readonly string[]): string {
  return execFileSync('git', args, { cwd: folder, encoding: 'utf8' })
}

/** The id of the approval that a run waits for. */
export async function approvalOf(client: AlxClient, run: string): Promise<string> {
  const last = (await client.getRunEvents(run)).events.at(-1)
  if (last?.type !== 'approval.required') throw new Error(`${run} waits for no approval`)
  return last.approval.approvalId
}
