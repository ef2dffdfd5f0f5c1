// Where programs keep logins, and which key one of them takes for its own where it has none.
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { AgentNeeds } from '@parley/core'
import type { Variables } from './command/environment.ts'
import { type PresetName, presets } from './presets.ts'

/** The files that a login leaves, where the variables of this environment put them. */
export function loginFiles({ files, moved = {} }: AgentNeeds['credentials'], env: Variables): readonly string[] {
  return files.map(file => {
    const found = Object.entries(moved).find(([variable, folder]) => env[variable] && file.startsWith(`${folder}/`))
    return found ? join(env[found[0]]!, file.slice(found[1].length)) : file
  })
}

/** A login that is kept elsewhere, or asked for: a key would take its place, and somebody else would pay. */
const ELSEWHERE = /^\s*(cli_auth_credentials_store|forced_login_method)\s*=/m

/** Variables that a program gets the value of another one for. */
export function borrowed(name: PresetName, env: Variables): Readonly<Record<string, string>> {
  const { borrows, needs } = presets[name]
  const key = borrows && env[borrows.from]
  if (!borrows || !key || env[borrows.as]) return {}
  const files = loginFiles(needs.credentials, env).map(file => file.replace(/^~/, env.HOME ?? '~'))
  const settings = files.map(file => join(dirname(file), borrows.settings))
  if (files.some(existsSync) || settings.some(file => ELSEWHERE.test(textOf(file)))) return {}
  return { [borrows.as]: key }
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
