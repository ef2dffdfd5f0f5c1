// Salvage for tests: failed workspaces with work in them, and the entries that a salvage leaves, as rows.
import { unwrap } from '@parley/core'
import type { Finding } from '../integration/conflict-record.ts'
import { detected, resolved, type Settled } from './conflicts.ts'
import type { Fixture, Row } from './fixture.ts'
import { emitted, graphOf } from './tasks.ts'

/** W, bound to task T and failed, with a final checkpoint K1 of high confidence and a later provisional one, K2. */
export async function failedWork(f: Fixture): Promise<{ readonly final: string; readonly later: string }> {
  const { id } = await graphOf(f, { T: {} })
  await f.worker('W', { task: id('T'), directive: null })
  unwrap(await f.agent('W').started())
  const payload = { files_changed: ['f'], content: 'nearly' }
  const final = unwrap(await f.checkpoint('W', { status: 'final', confidence: 'high', payload })).checkpoint
  const later = unwrap(await f.checkpoint('W', { confidence: 'high' })).checkpoint
  f.name(final, 'K1')
  f.name(later, 'K2')
  unwrap(await f.agent('W').failed('the model broke'))
  await f.mark()
  return { final, later }
}

/** A worker that failed with a final checkpoint K<name> over these files. */
export async function failedOn(
  f: Fixture,
  name: string,
  files: string[],
  ...draft: [object?, Parameters<Fixture['worker']>[2]?]
): Promise<void> {
  await f.worker(name, draft[0] ?? {}, draft[1])
  f.name(unwrap(await f.final(name, files)).checkpoint, `K${name}`)
  unwrap(await f.agent(name).failed('broke'))
  await f.mark()
}

/** Where a salvage is filed, and who acts. */
export interface Place {
  readonly target?: string
  readonly actor?: string
}

export function salvageBegun(
  signal: string,
  source: string,
  checkpoint: string,
  { target = 'R', actor = 'system' }: Place = {},
  extra: object = {},
): readonly Row[] {
  const body = { source, target, owner: 'ux', mode: 'salvage', strategy: 'evaluated' }
  return [
    emitted(signal, target, 'integrate', actor, { ref: source, mode: 'salvage' }),
    ['integration_started', target, actor, { ...body, checkpoint_ref: checkpoint, ...extra }],
  ]
}

export function salvageAborted(source: string, reason: string, { target = 'R', actor = 'system' }: Place = {}): Row {
  return ['integration_aborted', target, actor, { source, target, mode: 'salvage', reason }]
}

export function salvageDetected(id: string, source: string, found: Finding): Row {
  return inSalvage(detected(id, source, 'system', found))
}

export function salvageResolved(id: string, source: string, actor: string, settled: Settled): Row {
  return inSalvage(resolved(id, source, actor, settled))
}

/** The same entry as salvage writes it: under the target, which is the root. */
function inSalvage([type, , actor, body]: Row): Row {
  return [type, 'R', actor, { ...body, mode: 'salvage' }]
}
