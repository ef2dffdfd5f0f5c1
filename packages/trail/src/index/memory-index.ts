// An index in the caller's thread, made anew from the log each time: for simulation, and where there is no disk.
import type { ObjectId, RunId } from '@parley/core'
import type { StoredEntry, StoredObject } from '../entry.ts'
import type { Position } from '../store/store.ts'
import { Applier } from './apply.ts'
import type { LogPoint, LogReader, TrailIndex } from './contract.ts'
import { Engine, finish } from './engine.ts'
import { asIndexError, busyError, closedError } from './error.ts'
import { unpackRecords } from './fetch.ts'
import { indexLimits } from './limits.ts'
import { MemoryRows } from './memory-rows.ts'

interface Waiting {
  readonly atLeast: Position
  readonly answer: () => void
  readonly refuse: () => void
}

export function memoryIndex(reader: LogReader, end: LogPoint): TrailIndex {
  const rows = new MemoryRows()
  const applier = new Applier(rows, reader)
  const engine = new Engine(rows, reader)
  let point = end
  let closed = false
  let waiting: Waiting[] = []

  /** Answers at once, or as soon as the log has come as far as the question asks. */
  function ask<Answer>(atLeast: Position, work: () => Answer): Promise<Answer> {
    if (closed) return Promise.reject(closedError())
    return new Promise((resolve, reject) => {
      const answer = () => {
        try {
          while (!applier.step(point));
          resolve(work())
        } catch (cause) {
          reject(asIndexError(cause))
        }
      }
      if (point.frame >= atLeast) answer()
      else if (waiting.length >= indexLimits.waitingQueries) reject(busyError())
      else waiting.push({ atLeast, answer, refuse: () => reject(closedError()) })
    })
  }

  return {
    opening: async () => ({ state: 'rebuilt', reason: 'an index in memory starts empty', lostHeads: [] }),
    advance(next) {
      if (closed || next.frame < point.frame) return
      point = next
      const ready = waiting.filter(each => each.atLeast <= point.frame)
      if (ready.length === 0) return
      waiting = waiting.filter(each => each.atLeast > point.frame)
      for (const each of ready) each.answer()
    },
    select: (query, atLeast) =>
      ask(atLeast, () => {
        const { records, ...page } = finish(engine.select(query))
        return { entries: unpackRecords(records) as StoredEntry[], ...page }
      }),
    aggregate: (query, atLeast) => ask(atLeast, () => finish(engine.aggregate(query))),
    head: (run, atLeast) => ask(atLeast, () => engine.head(run)),
    runs: atLeast => ask(atLeast, () => engine.runs()),
    object: (run: RunId, id: ObjectId, atLeast) =>
      ask(atLeast, () => {
        const record = engine.object(run, id)
        return record && (unpackRecords(record)[0] as StoredObject)
      }),
    place: (run, seq, atLeast) => ask(atLeast, () => engine.place(run, seq)),
    replay: (run, after, limit, cursor, atLeast) =>
      ask(atLeast, () => {
        const { records, ...page } = engine.replay(run, after, limit, cursor)
        return { records: unpackRecords(records), ...page }
      }),
    relocate: (run, places) => ask(point.frame, () => engine.relocate(run, places)),
    forget: (run, seqs, file) => ask(point.frame, () => engine.forget(run, seqs, file)),
    take: (request, atLeast) => ask(atLeast, () => finish(engine.take(request))),
    usage: (atLeast, run) => ask(atLeast, () => finish(engine.usage(run))),
    async adopt() {
      applier.adopt()
      await ask(point.frame, () => undefined)
    },
    async close() {
      closed = true
      for (const each of waiting) each.refuse()
      waiting = []
    },
  }
}
