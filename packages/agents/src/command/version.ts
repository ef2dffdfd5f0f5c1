// The version of a program that is known to tell it safely: what it prints for `--version`.
import type { RunId, WorkspaceId } from '@parley/core'
import { agentDefaults } from '../limits.ts'
import { commandAdapter } from './adapter.ts'

/** Nothing if it did not say in time. */
export async function programVersion(file: string, path: string): Promise<string | undefined> {
  return versionIn((await printedVersion(file, path)) ?? '')
}

/** A program that hangs, floods or leaves something running is ended like any turn. */
async function printedVersion(file: string, path: string): Promise<string | undefined> {
  const config = {
    command: [file, '--version'],
    prompt: 'none',
    timeout: agentDefaults.versionTimeout,
    max_output: agentDefaults.versionOutput,
  }
  const made = commandAdapter('version', config, { environment: { ...process.env, PATH: path } })
  if (!made.ok) return undefined
  const result = await made.value.takeTurn(
    {
      run: `detect-${process.pid}` as RunId,
      workspace: crypto.randomUUID() as WorkspaceId,
      agent: 'version',
      epoch: 0,
      prompt: '',
      context: [],
      signal: new AbortController().signal,
    },
    () => {},
  )
  return result.outcome === 'complete' ? result.text : undefined
}

function versionIn(text: string): string | undefined {
  return /\d{1,9}\.\d{1,9}(?:\.\d{1,9})?(?:[-+.][0-9A-Za-z.+-]{1,64})?/.exec(text)?.[0]
}
