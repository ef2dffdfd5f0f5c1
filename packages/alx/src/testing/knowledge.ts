// A `Knowledge` over a library in memory and an index in a folder of its own, for tests.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ManualClock, type Principal, SeededIds } from '@parley/core'
import { onTestFinished } from 'vitest'
import { Knowledge, type KnowledgeOptions } from '../kb/knowledge.ts'
import { MemoryLibrary } from './memory-library.ts'

export const user = (id: string, ...scopes: string[]): Principal => ({ id, kind: 'user', scopes })
export const U = user('U')
export const V = user('V')
export const OWNER = user('the-owner', 'owner')

export interface Ground {
  readonly knowledge: Knowledge
  readonly library: MemoryLibrary
  readonly clock: ManualClock
  readonly folder: string
  readonly problems: string[]
}

type Given = Partial<KnowledgeOptions> & {
  readonly library?: MemoryLibrary
  readonly clock?: ManualClock
  readonly folder?: string
}

/** Closed, and its folder removed, when the test is over. */
export async function openKnowledge(given: Given = {}): Promise<Ground> {
  const clock = given.clock ?? new ManualClock()
  const library = given.library ?? new MemoryLibrary(clock)
  const folder = given.folder ?? (await temporaryFolder())
  const problems: string[] = []
  const knowledge = await Knowledge.open({
    ids: new SeededIds(7),
    minConfidence: 0.35,
    indexFile: join(folder, 'alx.index.db'),
    onProblem: (problem, error) => problems.push(error ? `${problem}: ${error.message}` : problem),
    ...given,
    library,
    clock,
  })
  onTestFinished(() => knowledge.close())
  return { knowledge, library, clock, folder, problems }
}

export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-alx-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** `ok`, or the code of the refusal. */
export function codeOf(result: { readonly ok: boolean; readonly error?: { readonly code: string } }): string {
  return result.error?.code ?? 'ok'
}

export function must<T>(result: { readonly ok: true; readonly value: T } | { readonly ok: false }): T {
  if (!result.ok) throw new Error(JSON.stringify(result))
  return result.value
}
