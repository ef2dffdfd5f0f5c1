// The way from a stored agent to a process: nothing that a team file can say gets lost.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type AgentSettings, type RunId, refuse, SystemClock, unwrap } from '@parley/core'
import { expect, onTestFinished, test } from 'vitest'
import type { Environment } from '../profile/paths.ts'
import { temporaryFolder } from '../testing/ground.ts'
import { turnInput } from '../testing/turns.ts'
import { agentAdapter } from './adapter.ts'
import { AwayAgents } from './away.ts'
import { readTeam } from './team-files.ts'

interface Around {
  readonly base?: string
  readonly env?: Environment
  readonly caller?: Readonly<Record<string, string>> | undefined
}

/** As a node makes it; nobody pays here, and there are no peers. */
function adapted(agent: AgentSettings, { base, env = process.env, caller }: Around = {}) {
  const none = () => refuse('unavailable', 'There is no link here.')
  const wanted = { run: 'run_1' as RunId, name: 'a', check: false, base, environment: caller, origin: 'test' }
  const adapter = agentAdapter(
    { ...wanted, agent: { slots: 1, ...agent } },
    {
      clock: new SystemClock(),
      env,
      functions: { greet: ({ prompt }) => `hello, ${prompt}`, hang: () => new Promise(() => undefined) },
      peers: { client: none, target: none },
      spending: { ledgered: each => each },
      away: new AwayAgents(new SystemClock()),
    },
  )
  onTestFinished(() => adapter.close())
  return adapter
}

const turn = (folder: string) => turnInput({ prompt: 'Hello.', folder, environment: { PARLEY_SOCKET: '/s' } })

test('an agent of a team file takes a turn, with a program beside the file, its variables and its limits', async () => {
  const base = temporaryFolder()
  writeFileSync(join(base, 'agent.sh'), '#!/bin/sh\necho "$LEVEL $PARLEY_SOCKET"; cat\n', { mode: 0o755 })
  const team = unwrap(
    readTeam(`version: 1
name: t
agents:
  a: { command: [./agent.sh], env: { LEVEL: high }, timeout: 1m, max_output: 64KiB, slots: 2 }
`),
  )
  const adapter = adapted(team.agents.a!, { base })
  const result = await adapter.takeTurn(turn(base), () => undefined)
  expect(result).toMatchObject({ outcome: 'complete', text: expect.stringMatching(/^high \/s\nHello\./) })
  const small = adapted({ ...team.agents.a!, maxOutputBytes: 4 }, { base })
  const failed = { outcome: 'failed', error: { code: 'output_limit' } }
  expect(await small.takeTurn(turn(base), () => undefined)).toMatchObject(failed)
})

test('an agent that makes no sense is refused with its reason', () => {
  const bad = [{}, { preset: 'clyde' }, { command: [] }, { function: 'nobody' }]
  for (const agent of bad) expect(() => adapted(agent)).toThrow(expect.objectContaining({ code: 'invalid_agent' }))
})

test('what the caller has goes before what the node has, and an agent gets no more of it than it passes on', async () => {
  const base = temporaryFolder()
  const config = { command: ['/bin/sh', '-c', 'echo "$ONE,$TWO,$THREE"'], pass: ['ONE', 'TWO'] }
  const env = { PATH: '/bin', ONE: 'node', TWO: 'node', THREE: 'node' }
  const said = async (caller: Readonly<Record<string, string>> | undefined) => {
    const adapter = adapted(config, { base, env, caller })
    const result = await adapter.takeTurn(turn(base), () => undefined)
    return result.outcome === 'complete' ? result.text.trim() : result.outcome
  }
  expect(await said({ ONE: 'caller', THREE: 'caller' })).toBe('caller,node,')
  expect(await said(undefined)).toBe('node,node,')
})

test('a function of the program that runs the node takes a turn, within its time', async () => {
  const greet = adapted({ function: 'greet' })
  expect(greet).toMatchObject({ name: 'a', kind: 'function' })
  const said = await greet.takeTurn(turn('/'), () => undefined)
  expect(said).toMatchObject({ outcome: 'complete', text: 'hello, Hello.' })
  const hang = adapted({ function: 'hang', timeoutMs: 20 })
  const error = { code: 'timeout', message: expect.stringContaining('hang') }
  expect(await hang.takeTurn(turn('/'), () => undefined)).toMatchObject({ outcome: 'failed', error })
})
