// Puts the pinned programs into a cache folder: never into the project's dependencies, and without any script of a
// package but the ones named here, which copy a binary that npm has already fetched.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { clisLimits } from './limits.ts'
import type { Program } from './programs.ts'

export function cacheFolder(env: Readonly<Record<string, string | undefined>> = process.env): string {
  return env.PARLEY_CLIS_CACHE || join(env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'parley', 'clis')
}

/** The folder of the program's command, for a PATH. */
export function binFolder(cache: string, program: Program): string {
  return join(place(cache, program), 'node_modules', '.bin')
}

/** Fetches what is not there yet. Throws where npm fails. */
export function install(cache: string, program: Program, tell: (text: string) => void): void {
  const { name, version, copy } = program
  const folder = place(cache, program)
  if (existsSync(folder)) return
  tell(`Installing ${name} ${version} into ${folder} …`)
  mkdirSync(cache, { recursive: true })
  const aside = mkdtempSync(join(cache, 'installing-'))
  try {
    writeFileSync(join(aside, 'package.json'), JSON.stringify({ private: true, name: `parley-clis-${name}` }))
    const npm = ['install', '--ignore-scripts', '--save-exact', '--no-audit', '--no-fund', '--loglevel=error']
    run(...npmCommand(), [...npm, `${program.package}@${version}`], aside)
    if (copy !== undefined) run(process.execPath, [], [copy], join(aside, 'node_modules', program.package))
    renameSync(aside, folder)
  } finally {
    rmSync(aside, { recursive: true, force: true })
  }
}

function place(cache: string, { name, version }: Program): string {
  return join(cache, `${name}-${version}`)
}

function npmCommand(): [program: string, first: readonly string[]] {
  const npm = process.env.npm_execpath
  return npm && /\.c?js$/.test(npm) ? [process.execPath, [npm]] : ['npm', []]
}

function run(program: string, first: readonly string[], args: readonly string[], cwd: string): void {
  const env = { ...process.env, PATH: `${dirname(process.execPath)}:${process.env.PATH}` }
  const options = { cwd, env, encoding: 'utf8', timeout: clisLimits.installMs } as const
  const { status, error, stdout, stderr } = spawnSync(program, [...first, ...args], options)
  if (status === 0) return
  throw new Error(`${args.join(' ')} failed: ${error?.message ?? `${stdout}${stderr}`.trim()}`)
}
