// Runs that were at work when their node ended, without a node: the coordinator keeps a mark in the folder of each
// until it is done with it.
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

export function interruptedRuns(profile: string): readonly string[] {
  const runs = join(profile, 'runs')
  if (!existsSync(runs)) return []
  return readdirSync(runs).filter(run => existsSync(join(runs, run, 'open')))
}
