// The version of a program that is known to tell it safely: what it prints for `--version`.
import type { RunId, TurnInput, WorkspaceId } from '@parley/core'
import { agentDefaults } from '../limits.ts'
import { programAdapter } from './adapter.ts'
import type { CommandPlan } from './config.ts'

/** Undefined if it did not answer in time. A program that hangs or floods is ended like any turn. */
export async function programVersion(file: string, path: string): Promise<string | undefined> {
  const plan: CommandPlan = {
    command: [file, '--version'],
    prompt: 'none',
    output: 'text',
    env: {},
    pass: [],
    timeoutMs: agentDefaults.versionMs,
    maxOutput: agentDefaults.versionBytes,
  }
  const input: TurnInput = {
    run: `detect-${process.pid}` as RunId,
    workspace: crypto.randomUUID() as WorkspaceId,
    agent: 'version',
    epoch: 0,
    prompt: '',
    context: [],
    signal: new AbortController().signal,
  }
  const adapter = programAdapter('version', plan, { environment: { ...process.env, PATH: path } })
  const result = await adapter.takeTurn(input, () => {})
  const text = result.outcome === 'complete' ? result.text : ''
  return /\d{1,9}\.\d{1,9}(?:\.\d{1,9})?(?:[-+.][0-9A-Za-z.+-]{1,64})?/.exec(text)?.[0]
}
