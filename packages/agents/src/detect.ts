// Which presets this machine has: looked up on a PATH, each asked for its version.

import { access, constants, stat } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import type { RunId, WorkspaceId } from '@parley/core'
import { commandAdapter } from './command/adapter.ts'
import { agentDefaults } from './limits.ts'
import { type PresetName, presetNames, presets } from './presets.ts'

export interface DetectedPreset {
  readonly name: PresetName
  /** Where the program was found. */
  readonly file: string
  /** Nothing if it did not say in time. */
  readonly version?: string
}

/** Runs a program for its version and returns what it printed, or nothing if that failed. */
export type VersionCall = (file: string) => Promise<string | undefined>

/** Those that are on this PATH, in the order of `presetNames`. */
export async function detectPresets(
  path: string = process.env.PATH ?? '',
  call: VersionCall = file => printedVersion(file, path),
): Promise<readonly DetectedPreset[]> {
  const found = await Promise.all(presetNames.map(name => detect(name, path, call)))
  return found.filter(preset => preset !== undefined)
}

async function detect(
  name: PresetName,
  path: string,
  call: VersionCall,
): Promise<DetectedPreset | undefined> {
  const file = await findOnPath(presets[name].program, path)
  if (file === undefined) return undefined
  const version = versionIn((await call(file)) ?? '')
  return version === undefined ? { name, file } : { name, file, version }
}

async function findOnPath(program: string, path: string): Promise<string | undefined> {
  for (const folder of path.split(delimiter)) {
    // An empty entry means the current folder: a program there is not what anybody installed.
    if (folder === '') continue
    const file = join(folder, program)
    if (await isExecutable(file)) return file
  }
  return undefined
}

async function isExecutable(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK)
    return (await stat(file)).isFile()
  } catch {
    return false
  }
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
