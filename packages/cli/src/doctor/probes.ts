// The machine, asked: programs, files, disks and processes.
import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import {
  accessSync,
  constants,
  lstatSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { machineFaultOf } from '@parley/core'
import { cliLimits } from '../limits.ts'
import type { Probes } from './check.ts'

export const systemProbes: Probes = {
  platform: process.platform,
  runtime: process.version,
  user: process.getuid?.(),
  output: (program, ...args) =>
    new Promise(resolve => {
      execFile(program, args, { timeout: cliLimits.probeMs, encoding: 'utf8' }, (error, stdout) =>
        resolve(error ? undefined : stdout),
      )
    }),
  file(path) {
    const found = lstatSync(path, { throwIfNoEntry: false })
    if (!found) return undefined
    const { mode, dev } = (found.isSymbolicLink() && quietly(() => statSync(path))) || found
    return {
      folder: found.isDirectory(),
      mode: mode & 0o777,
      owner: found.uid,
      changed: found.mtimeMs,
      device: dev,
    }
  },
  text: path => quietly(() => readFileSync(path, 'utf8')),
  writable: path =>
    quietly(() => {
      accessSync(path, constants.R_OK | constants.W_OK)
      return true
    }) ?? false,
  writeFault(folder) {
    const file = join(folder, `.parley-doctor-${randomUUID()}`)
    try {
      writeFileSync(file, 'parley doctor\n', { flag: 'wx', mode: 0o600, flush: true })
      return undefined
    } catch (cause) {
      return machineFaultOf(cause)
    } finally {
      quietly(() => rmSync(file, { force: true }))
    }
  },
  folders: path =>
    (quietly(() => readdirSync(path, { withFileTypes: true })) ?? [])
      .filter(each => each.isDirectory())
      .map(each => join(path, each.name)),
  freeBytes: folder =>
    quietly(() => {
      const { bavail, bsize } = statfsSync(folder)
      return bavail * bsize
    }),
  inodes: folder =>
    quietly(() => {
      const { files, ffree } = statfsSync(folder)
      return files > 0 ? { free: ffree, all: files } : undefined
    }),
  turns,
}

const MARKER = 'PARLEY_TURN='

/** Only Linux shows the environment of other processes; elsewhere the node finds them. */
function turns(socket: string): readonly number[] {
  const processes = quietly(() => readdirSync('/proc')) ?? []
  return processes
    .filter(name => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter(name => {
      const environment = quietly(() => readFileSync(`/proc/${name}/environ`, 'utf8'))?.split('\0') ?? []
      return environment.some(each => each.startsWith(MARKER)) && environment.includes(`PARLEY_SOCKET=${socket}`)
    })
    .map(Number)
}

function quietly<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}
