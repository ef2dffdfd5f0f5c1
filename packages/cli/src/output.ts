// How commands print: a value for programs, lines for people, remarks that `--quiet` leaves out.
import type { Context } from './command.ts'
import type { MachineView } from './node/views.ts'
import { heldLine } from './render/machine.ts'
import type { Drawing } from './render/tasks.ts'
import { wrapLines } from './render/text.ts'

/** The result: `value` as JSON, or lines. */
export function print({ global, terminal }: Context, value: unknown, lines: () => readonly string[]): void {
  if (global.json) printJson({ terminal }, value)
  else printLines({ terminal }, lines())
}

/** A result, with what holds the node up as a member for programs or as a remark for people. */
export function printHeld(
  context: Context,
  value: object,
  machine: MachineView | undefined,
  lines: () => readonly string[],
): void {
  print(context, { ...value, ...(machine && { machine }) }, lines)
  if (machine) remark(context, heldLine(machine, drawing(context)))
}

export function printJson({ terminal }: Pick<Context, 'terminal'>, value: unknown): void {
  terminal.out(`${JSON.stringify(value)}\n`)
}

export function printLines({ terminal }: Pick<Context, 'terminal'>, lines: readonly string[]): void {
  if (lines.length > 0) terminal.out(`${wrapLines(lines, terminal.columns).join('\n')}\n`)
}

export function remark(context: Pick<Context, 'global' | 'terminal'>, line: string): void {
  if (!context.global.quiet && !context.global.json) warn(context, line)
}

/** Also with --quiet. */
export function warn({ terminal }: Pick<Context, 'terminal'>, line: string): void {
  terminal.err(`${wrapLines([line], terminal.columns).join('\n')}\n`)
}

/** Of a node that was started for a command. */
export function continuedText(runs: number): string {
  return `Started the node, which continues ${runs === 1 ? '1 run' : `${runs} runs`} that had been interrupted.`
}

/** Whether a person is there who can be asked. */
export function isAttended({ terminal, global }: Pick<Context, 'terminal' | 'global'>): boolean {
  return terminal.interactive && terminal.live && !global.json
}

export function drawing({ terminal, clock }: Pick<Context, 'terminal' | 'clock'>): Drawing {
  return { width: terminal.columns, now: clock.now(), paint: terminal.paint }
}
