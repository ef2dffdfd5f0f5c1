// The shape of a fold: what one type of entry does to the state of its run. Each concept brings its own table;
// evolve.ts joins them.
import type { EntryDraft } from '@parley/trail'
import type { EventBody, EventType } from '@parley/trail/events'
import type { Run } from './run/run.ts'

export type Fold<T extends EventType> = (run: Run, body: EventBody<T>, entry: EntryDraft) => void

export type Folds = { readonly [T in EventType]?: Fold<T> }
