// What a check is: one thing that a person can rely on with every program, shown through real Parley. It throws what
// failed, in a few words.
import type { RunView } from '@parley/coordinator'
import type { Program } from '../programs.ts'
import type { Reply } from '../server/dialect.ts'
import type { Turn } from '../server/model-server.ts'
import type { World } from '../world.ts'

export interface Scene {
  readonly program: Program
  readonly world: World
}

export interface Check {
  /** For `--check`. */
  readonly name: string
  /** The row of the table. */
  readonly title: string
  /** A text that it resolves to is what was measured, and stands behind the `yes`. */
  run(scene: Scene): Promise<unknown>
}

/** A line of a team file: the program as it ships; only the model is named. */
export function agentLine(name: string, { name: preset, model }: Program, more = ''): string {
  return `  ${name}: { preset: ${preset}${model === undefined ? '' : `, model: ${model}`}${more} }\n`
}

/** A team of the program alone. Without a plan the intent is the one task. */
export function team(program: Program, { agent = '', rest = '' } = {}): string {
  return `version: 1\nname: trial\nagents:\n${agentLine(program.name, program, agent)}${rest}`
}

/** One reply after the other: the first to the prompt, the next to the result of the tool that it called, and so on. */
export function inTurn(...replies: readonly Reply[]): (turn: Turn) => Reply {
  return ({ results }) => replies[Math.min(results.length, replies.length - 1)]!
}

export function fail(words: string): never {
  throw new Error(words)
}

export function equal(what: string, seen: unknown, wanted: unknown): void {
  if (seen !== wanted) fail(`${what}: ${JSON.stringify(seen)} instead of ${JSON.stringify(wanted)}`)
}

export function done(view: RunView): void {
  if (view.state !== 'done') fail(`the run is ${view.state}: ${view.reason ?? 'no reason'}`)
}
