// Seeds shared among processes: each takes the next piece when it is done with its last one, so that all are busy to
// the end. The first seed that breaks ends them all.
import { type ChildProcess, fork } from 'node:child_process'
import { join } from 'node:path'
import { Statistics } from './statistics.ts'

/** As scripts/with-node.mjs starts the sources. */
const SOURCES = ['--conditions=parley-source', '--disable-warning=ExperimentalWarning']
/** Seeds that a process takes at once. */
const PIECE = 20

export interface Job {
  readonly first: number
  readonly count: number
  readonly steps: number
  readonly jobs: number
}

export interface Piece {
  readonly first: number
  readonly count: number
  readonly steps: number
}

/** What a process says of its piece; `broken` is the seed that broke, and the others after it were not tried. */
export interface PieceReport {
  readonly piece: Piece
  readonly broken: number | undefined
  readonly statistics: object
}

/** Resolves to the first seed that was found broken, or to undefined. Rejects where a process ends by itself. */
export async function simulateInProcesses(
  { first, count, steps, jobs }: Job,
  progress: (done: { readonly done: number; readonly statistics: Statistics }) => void,
): Promise<number | undefined> {
  const pieces: Piece[] = []
  for (let at = first; at < first + count; at += PIECE)
    pieces.push({ first: at, count: Math.min(PIECE, first + count - at), steps })
  let done = 0
  const processes = Array.from({ length: Math.min(jobs, pieces.length) }, () =>
    fork(join(import.meta.dirname, 'piece.ts'), { execArgv: [...SOURCES] }),
  )
  try {
    return await new Promise<number | undefined>((resolve, reject) => {
      for (const child of processes) {
        child.on('error', reject)
        child.on('exit', code => reject(new Error(`A process of the simulation ended with ${code}.`)))
        child.on('message', ({ piece, broken, statistics }: PieceReport) => {
          done += piece.count
          progress({ done, statistics: Object.assign(new Statistics(), statistics) })
          if (broken !== undefined) resolve(broken)
          else if (done === count) resolve(undefined)
          else next(child)
        })
        next(child)
      }
    })
  } finally {
    for (const child of processes) {
      child.removeAllListeners('exit')
      child.kill()
    }
  }

  function next(child: ChildProcess): void {
    const piece = pieces.shift()
    if (piece) child.send(piece)
  }
}
