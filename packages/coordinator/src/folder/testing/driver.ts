// A process that works with the folders of a run until it is killed. It repeats prepare, capture and integrate for one
// workspace after the other, as its arguments say, and prints a line whenever something is done.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type RunId, unwrap, type WorkspaceId } from '@parley/core'
import type { ProjectFacts } from '../model.ts'
import { RunFolders } from '../run-folders.ts'

export interface DriverTask {
  readonly facts: ProjectFacts
  readonly home: string
  readonly run: RunId
  readonly from: number
  readonly to: number
}

/**
 * What one workspace does: a file of its own, one that it may not write, and many so that there is something to
 * interrupt.
 */
export function change(folder: string, number: number): void {
  writeFileSync(join(folder, `task-${number}.txt`), `task ${number}\n`)
  writeFileSync(join(folder, 'forbidden.txt'), String(number))
  for (let part = 0; part < 20; part++)
    writeFileSync(join(folder, `task-${number}.part-${part}.txt`), `${number}.${part}\n`)
}

export async function perform(folders: RunFolders, number: number): Promise<string> {
  const workspace = `ws_${number}` as WorkspaceId
  const base = folders.facts.base
  const folder = unwrap(await folders.prepare(workspace, base))
  change(folder, number)
  const options = { parent: base, paths: ['task-*'], message: `task ${number}\n`, author: 'worker' }
  const { commit } = unwrap(await folders.capture(workspace, options))
  unwrap(await folders.integrate(commit, { message: `merge ${number}\n` }))
  return commit
}

if (process.argv[2] !== undefined) {
  const task = JSON.parse(process.argv[2]) as DriverTask
  const folders = unwrap(await RunFolders.open(task))
  process.stdout.write('ready\n')
  for (let number = task.from; number < task.to; number++) {
    process.stdout.write(`${number} ${await perform(folders, number)}\n`)
  }
}
