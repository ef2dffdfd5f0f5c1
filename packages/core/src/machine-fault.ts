// Faults of the machine: no room, no files, no memory, a failing disk. They say nothing about the work that met them:
// a failure they cause does not count against it. This file only reads errors; probing the disk happens at the edge.

/** A closed set. `EAGAIN` counts only where a process could not be started: everywhere else it means "not yet". */
export const machineCodes = ['ENOSPC', 'EDQUOT', 'EROFS', 'EMFILE', 'ENFILE', 'ENOMEM', 'EAGAIN', 'EIO'] as const
export type MachineCode = (typeof machineCodes)[number]

export interface MachineFault {
  readonly code: MachineCode
  /** The file or folder that was used, where the error names one. */
  readonly where?: string
  /** The disk has room, and cannot hold another file. */
  readonly inodes?: true
}

/** Codes that a probe write in the right folder confirms or refutes. */
const DISK: ReadonlySet<MachineCode> = new Set(['ENOSPC', 'EDQUOT', 'EROFS', 'EIO'])

export function isDiskFault({ code }: MachineFault): boolean {
  return DISK.has(code)
}

const WORDS: Readonly<Record<MachineCode, string>> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EROFS: 'the disk is read-only',
  EMFILE: 'the node has too many files open',
  ENFILE: 'the machine has too many files open',
  ENOMEM: 'the machine has no memory left',
  EAGAIN: 'the machine starts no further process',
  EIO: 'the disk fails',
}

export function machineFaultText({ code, where, inodes }: MachineFault): string {
  return `${inodes ? 'the disk has no inodes left, so that no file can be made' : WORDS[code]} (${code}${where === undefined ? '' : ` at ${where}`})`
}

/** What only a restart ends, whatever its cause was: waiting for the machine would be waiting for ever. */
const LASTING: ReadonlySet<unknown> = new Set(['keys_uncertain'])

/** How far an error's causes are followed: they may nest deeper, or in a circle. */
const CAUSES = 16

/** The fault in an error's code, in its causes or in its details as `system`. Messages are never read: they quote. */
export function machineFaultOf(thrown: unknown): MachineFault | undefined {
  let each = thrown
  for (let depth = 0; depth < CAUSES && isRecord(each); depth++) {
    if (LASTING.has(each.code)) return undefined
    const code = codeOf(each)
    if (code !== undefined) {
      const where = [each.path, each.dest, detailOf(each, 'path')].find(path => typeof path === 'string')
      return { code, ...(typeof where === 'string' && { where }) }
    }
    each = each.cause
  }
  return undefined
}

/** On Linux, and on macOS and the BSDs. */
const EDQUOT: ReadonlySet<unknown> = new Set([-122, -69])

/** The name of a system error. A used-up quota has none in Node.js (`UNKNOWN`, `Unknown system error -122`). */
export function systemCode(thrown: unknown): string {
  const { code, errno } = (thrown ?? {}) as Readonly<Record<string, unknown>>
  if (typeof code !== 'string') return 'unknown'
  return /^unknown\b/i.test(code) && EDQUOT.has(errno) ? 'EDQUOT' : code
}

function codeOf(error: Readonly<Record<string, unknown>>): MachineCode | undefined {
  const { errcode, syscall } = error
  for (const [each, number] of [
    [systemCode(error), errcode],
    [detailOf(error, 'system'), detailOf(error, 'errcode')],
  ]) {
    if (each === 'ERR_SQLITE_ERROR') return typeof number === 'number' ? SQLITE_CODES.get(number & 0xff) : undefined
    const found = machineCodes.find(known => known === each)
    // Reading a socket answers `EAGAIN` on a good day.
    if (found === 'EAGAIN' && !String(syscall ?? detailOf(error, 'syscall') ?? '').startsWith('spawn')) continue
    if (found !== undefined) return found
  }
  return undefined
}

/** Primary result codes of SQLite; the extended ones have them in their low byte. */
const SQLITE_CODES: ReadonlyMap<number, MachineCode> = new Map([
  [7, 'ENOMEM'],
  [10, 'EIO'],
  [13, 'ENOSPC'],
])

function detailOf({ details }: Readonly<Record<string, unknown>>, name: string): unknown {
  return isRecord(details) ? details[name] : undefined
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}
