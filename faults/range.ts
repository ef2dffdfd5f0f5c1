// A range of seeds: lives one after another, each in a process of its own, two at a time, with a file that remembers
// which are done. A range that was stopped goes on where it stood.
import { fork } from 'node:child_process'
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Bundled, bundled } from '@parley/node/testing'
import { type LifeOptions, type LifeOutcome, live } from './life.ts'
import { compiledShim } from './shim.ts'
import { type ForeignRun, foreignRuns } from './work.ts'

/** Runs that are there to be imported in one life. */
const FOREIGN = 4

/** What lives have in common: made once, removed at the end. */
export interface Ground {
  readonly folder: string
  readonly shim?: string
  readonly bundle: Bundled
  readonly foreign: readonly ForeignRun[]
}

export async function withGround<T>(work: (ground: Ground) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'parley-faults-ground-'))
  try {
    const shim = compiledShim(folder)
    const foreign = await foreignRuns(folder, FOREIGN)
    return await work({ folder, bundle: await bundled(), foreign, ...(shim && { shim }) })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

export interface RangeOptions {
  readonly first: number
  readonly last: number
  readonly faults: number
  readonly kinds?: readonly string[]
  readonly jobs: number
  /** One line of JSON for each life that is over. */
  readonly progress?: string
  readonly keep?: boolean
  /** Lives at work end after their present fault and are not told. */
  readonly signal?: AbortSignal
}

/** Every life of the range, those of the progress file included, in the order in which they ended. */
export async function liveRange(
  options: RangeOptions,
  ground: Ground,
  told: (outcome: LifeOutcome) => void = () => undefined,
): Promise<readonly LifeOutcome[]> {
  const { first, last, faults, kinds, jobs, progress, keep, signal } = options
  const before = progress === undefined ? [] : readProgress(progress)
  const outcomes = before.filter(({ seed }) => seed >= first && seed <= last)
  const done = new Set(outcomes.map(({ seed }) => seed))
  const waiting = Array.from({ length: last - first + 1 }, (_, index) => first + index).filter(seed => !done.has(seed))
  const worker = async () => {
    for (let seed = waiting.shift(); seed !== undefined && !signal?.aborted; seed = waiting.shift()) {
      const outcome = await inProcess(signal, {
        seed,
        faults,
        bundle: ground.bundle,
        foreign: ground.foreign,
        ...(ground.shim !== undefined && { shim: ground.shim }),
        ...(kinds && { kinds }),
        ...(keep !== undefined && { keep }),
      })
      if (outcome.stopped) return
      outcomes.push(outcome)
      if (progress !== undefined) appendFileSync(progress, `${JSON.stringify(outcome)}\n`)
      told(outcome)
    }
  }
  await Promise.all(Array.from({ length: Math.max(1, jobs) }, worker))
  return outcomes
}

/** The last line may be cut off: whoever wrote it was stopped. */
export function readProgress(file: string): LifeOutcome[] {
  if (!existsSync(file)) return []
  return readFileSync(file, 'utf8')
    .split('\n')
    .flatMap(line => {
      try {
        return [JSON.parse(line) as LifeOutcome]
      } catch {
        return []
      }
    })
}

/** A life blocks its process now and then (mounts, git); two in one would disturb each other's moments. */
function inProcess(signal: AbortSignal | undefined, options: LifeOptions): Promise<LifeOutcome> {
  const child = fork(import.meta.filename, [], { execArgv: process.execArgv, stdio: 'inherit' })
  const stop = () => void child.kill('SIGTERM')
  signal?.addEventListener('abort', stop)
  return new Promise((resolve, reject) => {
    let outcome: LifeOutcome | undefined
    child.on('message', message => {
      outcome = message as LifeOutcome
    })
    child.on('exit', code => {
      signal?.removeEventListener('abort', stop)
      if (outcome) resolve(outcome)
      else reject(new Error(`the process of seed ${options.seed} ended with ${code}`))
    })
    child.send(options)
  })
}

/** Whoever stops the driver, or ends it without a word, leaves no node and no mount behind. */
if (process.argv[1] === import.meta.filename) {
  const stopped = new AbortController()
  for (const event of ['SIGINT', 'SIGTERM', 'SIGHUP', 'disconnect']) process.on(event, () => stopped.abort())
  process.once('message', async message => {
    const outcome = await live(message as LifeOptions, stopped.signal)
    if (process.connected) process.send!(outcome, () => process.exit(0))
    else process.exit(0)
  })
}

/** How often each kind was injected, and after which of them something was found. */
export function tableOf(outcomes: readonly LifeOutcome[]): readonly string[] {
  const kinds = new Map<string, { histories: number; findings: number }>()
  const row = (kind: string) => {
    const found = kinds.get(kind) ?? { histories: 0, findings: 0 }
    kinds.set(kind, found)
    return found
  }
  for (const { histories, failure } of outcomes) {
    for (const [kind, count] of Object.entries(histories)) row(kind).histories += count
    if (failure) row(failure.kind).findings++
  }
  const sum = [...kinds.values()].reduce((total, { histories }) => total + histories, 0)
  const found = outcomes.filter(({ failure }) => failure).length
  return [
    '| kind | histories | findings |',
    '|---|---|---|',
    ...[...kinds]
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([kind, { histories, findings }]) => `| ${kind} | ${histories} | ${findings} |`),
    `| all | ${sum} | ${found} |`,
  ]
}

/** What a person needs to find out what happened. */
export function failureText({ seed, failure }: LifeOutcome, faults: number): string {
  if (!failure) return `seed ${seed}: sound`
  const { findings, journal, log, folder } = failure
  const list = (lines: readonly string[]) => lines.map(line => `  ${line}`).join('\n')
  return [
    `seed ${seed} found, after ${failure.faults.length} faults:`,
    list(findings),
    'its faults:',
    list(failure.faults),
    'the journal’s last lines:',
    list(journal),
    'the node’s last lines:',
    list(log),
    ...(folder === undefined ? [] : [`its folder: ${folder} (its disk may still be mounted: umount ${folder}/disk)`]),
    `run it again: npm run faults -- --seed ${seed} --faults ${faults}`,
  ].join('\n')
}
