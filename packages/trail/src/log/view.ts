// The tail of a view's canonical text. Keys are sorted, so every view ends with
// `"integrity":{…},"prev_hash":…,"timestamp":"…","workspace":…}`. Quotes inside strings are escaped, so the last match
// of a key is the key itself, and everything before it has a fixed width.
import type { Timestamp, WorkspaceId } from '@parley/core'

const ALGORITHM = '"integrity":{"algorithm":"sha-256"'
const LOCAL_KEY = ',"local_hash":"'
const PREV_KEY = '},"prev_hash":'
const TIMESTAMP_KEY = ',"timestamp":"'
const WORKSPACE_KEY = ',"workspace":'
const TIMESTAMP_LENGTH = 27
const HASH_LENGTH = 64

export function viewTimestamp(view: string): Timestamp {
  const key = view.lastIndexOf(WORKSPACE_KEY)
  return view.slice(key - 1 - TIMESTAMP_LENGTH, key - 1) as Timestamp
}

/** Whether a view names this hash, or with `null` no hash, as that of the entry before it; without parsing the view. */
export function viewFollows(view: string, hash: string | null): boolean {
  const end = view.lastIndexOf(WORKSPACE_KEY) - TIMESTAMP_KEY.length - TIMESTAMP_LENGTH - 1
  if (hash === null) return view.startsWith('null', end - 4) && view.startsWith(PREV_KEY, end - 4 - PREV_KEY.length)
  const at = end - 1 - HASH_LENGTH
  return view.startsWith(hash, at) && view.startsWith(PREV_KEY, at - 1 - PREV_KEY.length)
}

export interface ViewTail {
  /** What both views of the entry share: everything up to and with the algorithm. */
  readonly shared: string
  readonly localHash: string | undefined
  readonly prevHash: string | null
  /** From the comma before `"timestamp"` to the end, again shared by both views. */
  readonly end: string
  readonly workspace: WorkspaceId | null
}

/** Takes a view apart; undefined when the text does not have the form of one. */
export function viewTail(view: string): ViewTail | undefined {
  const workspace = view.lastIndexOf(WORKSPACE_KEY)
  const timestamp = workspace - TIMESTAMP_KEY.length - TIMESTAMP_LENGTH - 1
  if (timestamp <= 0 || !view.startsWith(TIMESTAMP_KEY, timestamp)) return undefined
  const first = view.charCodeAt(timestamp - 1) !== QUOTE
  const prev = timestamp - PREV_KEY.length - (first ? 4 : HASH_LENGTH + 2)
  if (prev <= 0 || !view.startsWith(PREV_KEY, prev)) return undefined
  const local = prev - LOCAL_KEY.length - HASH_LENGTH - 1
  const anchored = view.startsWith(LOCAL_KEY, local)
  const sharedEnd = anchored ? local : prev
  if (!view.startsWith(ALGORITHM, sharedEnd - ALGORITHM.length)) return undefined
  const named = parseWorkspace(view, workspace + WORKSPACE_KEY.length)
  if (named === undefined) return undefined
  return {
    shared: view.slice(0, sharedEnd),
    localHash: anchored ? view.slice(local + LOCAL_KEY.length, prev - 1) : undefined,
    prevHash: first ? null : view.slice(prev + PREV_KEY.length + 1, timestamp - 1),
    end: view.slice(timestamp),
    workspace: named,
  }
}

const QUOTE = 0x22

/** Undefined where damage has made it something that is no text. */
function parseWorkspace(view: string, at: number): WorkspaceId | null | undefined {
  if (view.charCodeAt(at) !== QUOTE) return null
  const raw = view.slice(at + 1, -2)
  if (!raw.includes('\\')) return raw as WorkspaceId
  try {
    return JSON.parse(`"${raw}"`) as WorkspaceId
  } catch {
    return undefined
  }
}

export function localView(tail: ViewTail, lastLocal: string | null): string {
  return `${tail.shared}},"prev_hash":${lastLocal === null ? 'null' : `"${lastLocal}"`}${tail.end}`
}
