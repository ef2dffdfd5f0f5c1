// A node as a process of its own.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, onTestFinished } from 'vitest'
import { readNodeFile } from '../reach/node-file.ts'
import { bundled } from './bundle.ts'
import type { Ground } from './ground.ts'

const { main: MAIN, oddMain: ODD_MAIN } = await bundled()

export { ODD_MAIN }

export interface NodeProcess {
  readonly child: ChildProcess
  /** Everything that it printed. */
  output(): string
  ended(): Promise<{ readonly code: number | null; readonly signal: string | null }>
  /** Its socket answers. */
  up(): Promise<void>
}

export function nodeProcess(
  place: Ground,
  options: { readonly entry?: string; readonly env?: Record<string, string>; readonly uid?: number } = {},
): NodeProcess {
  const child = spawn(process.execPath, [...process.execArgv, options.entry ?? MAIN, '--profile', 'default'], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...place.env, ...options.env },
    cwd: '/',
    ...(options.uid !== undefined && { uid: options.uid, gid: options.uid }),
  })
  let output = ''
  child.stdout.on('data', chunk => {
    output += String(chunk)
  })
  child.stderr.on('data', chunk => {
    output += String(chunk)
  })
  const exit = once(child, 'close')
  onTestFinished(async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
    await exit
  })
  const isUp = () => readNodeFile(place.path('default', 'node.json'))?.pid === child.pid
  return {
    child,
    output: () => output,
    async ended() {
      await exit
      return { code: child.exitCode, signal: child.signalCode }
    },
    async up() {
      await expect.poll(() => isUp() || child.exitCode !== null, { timeout: 30_000, interval: 20 }).toBe(true)
      expect(child.exitCode, output).toBe(null)
    },
  }
}
