// The shape of an invariant: a name that begins with the requirements it watches over, and the moments at which it is
// asked. Each question is answered with nothing, or with what is wrong.
import type { EntryDraft, TrailObject } from '@parley/trail'
import type { EventBody, EventType } from '@parley/trail/events'
import type { RunModel } from '../model/model.ts'

export type Problem = string | undefined

/** A batch as it was committed, and how far it is folded. */
export interface BatchView {
  readonly entries: readonly EntryDraft[]
  readonly objects: readonly TrailObject[]
  /** The entry that is asked about. */
  at: number
  /** Whether the transport carries signals, so that it may repeat them. */
  readonly carriesSignals: boolean
  /** How often each delivery was carried. */
  readonly carried: ReadonlyMap<string, number>
}

type EntryRule<T extends EventType> = (
  run: RunModel,
  body: EventBody<T>,
  entry: EntryDraft,
  batch: BatchView,
) => Problem

export interface Invariant {
  readonly name: string
  /** Asked of every entry, before it is folded. */
  readonly every?: (run: RunModel, entry: EntryDraft, batch: BatchView) => Problem
  /** Asked of entries of a type, before they are folded. */
  readonly on?: { readonly [T in EventType]?: EntryRule<T> }
  /** Asked of every object, before it is folded. */
  readonly object?: (run: RunModel, object: TrailObject, batch: BatchView) => Problem
  /** Asked once a batch is folded: what must hold between any two commands, seen from what the batch touched. */
  readonly batch?: (run: RunModel, batch: BatchView) => Problem
  /** Asked of the whole state, now and then. */
  readonly state?: (run: RunModel) => Problem
}

/** The workspaces that a batch's entries name in the usual fields. */
export function touched(batch: BatchView): Set<string> {
  const ids = new Set<string>()
  for (const { body } of batch.entries) {
    const named = body as Readonly<Record<string, unknown>>
    for (const field of ['workspace_id', 'to', 'source', 'target'])
      if (typeof named[field] === 'string') ids.add(named[field])
  }
  return ids
}

export function has(batch: BatchView, type: EventType, matches: (body: Record<string, unknown>) => boolean): boolean {
  return batch.entries.some(entry => entry.event_type === type && matches(entry.body as Record<string, unknown>))
}
