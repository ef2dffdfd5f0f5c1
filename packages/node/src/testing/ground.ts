// A home of profiles in a temporary folder that goes away with its test, and every node with it.
import { execFileSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { unwrap } from '@parley/core'
import { expect, onTestFinished } from 'vitest'
import { type Config, loadConfig } from '../config/load.ts'
import type { Environment } from '../profile/paths.ts'
import { readNodeFile } from '../reach/node-file.ts'

export interface Ground {
  /** The user's own folder; profiles are below `.parley`. */
  readonly home: string
  readonly env: Environment
  config(flags?: Readonly<Record<string, string>>): Config
  write(path: string, text: string): string
  /** Where a profile's file is. */
  path(...parts: readonly string[]): string
}

/** No node of a test is reached from another machine, and no two of them want the same port (ALP-TCP-01). */
export const ON_LOOPBACK = { ALPI_NETWORK_HOST: '127.0.0.1', ALPI_ALP_TCP_PORT: '0' } as const

export function ground(name = ''): Ground {
  const home = realpathSync(mkdtempSync(join(tmpdir(), `parley-node-${name}`)))
  const env = { PATH: process.env.PATH, HOME: home, ...ON_LOOPBACK }
  const path = (...parts: readonly string[]) => join(home, '.parley', ...parts)
  onTestFinished(async () => {
    for (const profile of existsSync(path()) ? readdirSync(path()) : []) await ended(path(profile, 'node.json'))
    // One that found the profile in use may still be on its way out, and would make the folder anew.
    try {
      await expect.poll(() => processesOf(home), { timeout: 20_000, interval: 20 }).toEqual([])
    } finally {
      for (const pid of processesOf(home)) process.kill(pid, 'SIGKILL')
      rmSync(home, { recursive: true, force: true })
    }
  })
  return {
    home,
    env,
    path,
    config: flags => unwrap(loadConfig({ env, home, ...(flags && { flags }) })),
    write(file, text) {
      const whole = path(file)
      mkdirSync(dirname(whole), { recursive: true })
      writeFileSync(whole, text)
      return whole
    },
  }
}

/** The files of all profiles that hold this text. */
export function filesWith(place: Ground, text: string): readonly string[] {
  const files = readdirSync(place.path(), { recursive: true, encoding: 'utf8' }).map(file => place.path(file))
  return files.filter(file => statSync(file).isFile() && readFileSync(file).includes(text))
}

/** A folder that goes away with its test. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'parley-node-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Makes a folder a repository with all that is in it; what comes back is its git. */
export function repository(folder: string): (...args: string[]) => string {
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=Test', '-c', 'user.email=test@localhost', ...args], {
      cwd: folder,
      encoding: 'utf8',
    })
  git('init', '--quiet', '--initial-branch=main')
  git('add', '-A')
  git('commit', '--quiet', '-m', 'first')
  return git
}

/** Ends a node that a test left behind. */
async function ended(nodeFile: string): Promise<void> {
  const pid = readNodeFile(nodeFile)?.pid
  if (pid === undefined || pid === process.pid || !isAlive(pid)) return
  process.kill(pid, 'SIGKILL')
  await gone(pid)
}

/** Other processes whose environment names this folder. Only Linux tells. */
function processesOf(home: string): readonly number[] {
  if (process.platform !== 'linux') return []
  const all = readdirSync('/proc').filter(name => /^\d+$/.test(name) && Number(name) !== process.pid)
  return all.map(Number).filter(pid => {
    try {
      return readFileSync(`/proc/${pid}/environ`, 'utf8').includes(`HOME=${home}`)
    } catch {
      return false
    }
  })
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

export async function gone(pid: number): Promise<void> {
  await expect.poll(() => isAlive(pid), { timeout: 20_000, interval: 20 }).toBe(false)
}

/** A log that keeps its lines. */
export function keptLog() {
  const lines: { level: string; message: string; facts?: object }[] = []
  const at = (level: string) => (message: string, facts?: object) => {
    lines.push({ level, message, ...(facts && { facts }) })
  }
  return {
    lines,
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    close: () => undefined,
  }
}
