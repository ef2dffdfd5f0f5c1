// The file by which a process that runs under the shim is told what fails: the other half of the layout in shim/shim.c.
import { closeSync, openSync, readSync, writeFileSync, writeSync } from 'node:fs'
import { constants } from 'node:os'

/** What a rule can make fail; `torn`: half of what is to be written is written before the error. */
export const OPERATIONS = {
  open: 1,
  create: 2,
  write: 4,
  read: 8,
  sync: 16,
  truncate: 32,
  rename: 64,
  unlink: 128,
  mkdir: 256,
  torn: 512,
} as const
export type Operation = keyof typeof OPERATIONS

export type SystemError = 'EIO' | 'ENOSPC' | 'EROFS' | 'EDQUOT' | 'ENOMEM'

export interface Rule {
  readonly operations: readonly Operation[]
  /** Pieces of a path between stars, in their order; with `$` at the end, the end of the path. */
  readonly path: string
  readonly error: SystemError
  /** How many calls fail; all of them without it. */
  readonly times?: number
}

const MAGIC = 'PLFAULT1'
const CLOCK_AT = 8
const RULES_AT = 64
const RULE_BYTES = 128
const PATTERN_AT = 24
const RULES = 16

export class Control {
  readonly file: string
  readonly #handle: number
  #clockMs = 0

  constructor(file: string) {
    this.file = file
    const blank = Buffer.alloc(RULES_AT + RULES * RULE_BYTES)
    blank.write(MAGIC)
    writeFileSync(file, blank, { mode: 0o600 })
    this.#handle = openSync(file, 'r+')
  }

  /** Milliseconds that the wall clock of the process is ahead; below zero: behind. */
  get clockMs(): number {
    return this.#clockMs
  }

  set clockMs(milliseconds: number) {
    this.#clockMs = milliseconds
    const bytes = Buffer.alloc(8)
    bytes.writeBigInt64LE(BigInt(milliseconds) * 1_000_000n)
    writeSync(this.#handle, bytes, 0, 8, CLOCK_AT)
  }

  /** Those, in place of all before. A rule is switched on after it is written. */
  set(rules: readonly Rule[]): void {
    if (rules.length > RULES) throw new RangeError(`at most ${RULES} rules, not ${rules.length}`)
    this.clear()
    for (const [index, { operations, path, error, times = -1 }] of rules.entries()) {
      const bytes = Buffer.alloc(RULE_BYTES)
      if (Buffer.byteLength(path) >= RULE_BYTES - PATTERN_AT) throw new RangeError(`${path} is too long`)
      bytes.writeUInt32LE(
        operations.reduce((sum, each) => sum | OPERATIONS[each], 0),
        4,
      )
      bytes.writeInt32LE(constants.errno[error], 8)
      bytes.writeInt32LE(times, 12)
      bytes.write(path, PATTERN_AT)
      writeSync(this.#handle, bytes, 0, RULE_BYTES, RULES_AT + index * RULE_BYTES)
      this.#switch(index, true)
    }
  }

  /** How many calls have failed by the rules that were set last. */
  get hits(): number {
    const bytes = Buffer.alloc(RULES * RULE_BYTES)
    readSync(this.#handle, bytes, 0, bytes.length, RULES_AT)
    return Array.from({ length: RULES }, (_, index) => bytes.readUInt32LE(index * RULE_BYTES + 16)).reduce(
      (sum, each) => sum + each,
      0,
    )
  }

  clear(): void {
    for (let index = 0; index < RULES; index++) this.#switch(index, false)
  }

  close(): void {
    closeSync(this.#handle)
  }

  #switch(index: number, on: boolean): void {
    const bytes = Buffer.alloc(4)
    bytes.writeUInt32LE(on ? 1 : 0)
    writeSync(this.#handle, bytes, 0, 4, RULES_AT + index * RULE_BYTES)
  }
}
