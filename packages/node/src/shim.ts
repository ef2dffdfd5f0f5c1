// `parley` for agents: a script in the profile that runs the command with this node's own runtime. Turns have its
// folder in front of their PATH, since a command that a person calls by an alias or from a checkout is on nobody's
// PATH.
import { chmodSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { isAbsolute, join } from 'node:path'
import type { Environment, ProfilePaths } from './profile/paths.ts'
import { runtimeArguments } from './spawn-node.ts'

/** Names the script of the command. The command sets it when it starts a node; a node cannot know. */
export const COMMAND_VARIABLE = 'PARLEY_COMMAND'

/**
 * Writes `bin/parley` of the profile and returns its folder; nothing where nobody said which command is meant, and then
 * there is no script of an earlier start either. Only the process that holds the profile may call this. Throws where
 * the profile cannot be written.
 */
export function writeShim({ folder }: Pick<ProfilePaths, 'folder'>, env: Environment): string | undefined {
  const bin = join(folder, 'bin')
  const file = join(bin, 'parley')
  const entry = env[COMMAND_VARIABLE]
  if (entry === undefined || !isAbsolute(entry)) {
    rmSync(file, { force: true })
    return undefined
  }
  mkdirSync(bin, { recursive: true, mode: 0o700 })
  const command = [process.execPath, ...runtimeArguments(), entry].map(quoted).join(' ')
  // In one step: a turn that an earlier node left behind may be reading it.
  const aside = `${file}.new`
  writeFileSync(aside, `#!/bin/sh\nexec ${command} "$@"\n`, { mode: 0o700 })
  chmodSync(aside, 0o700)
  renameSync(aside, file)
  return bin
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`
}
