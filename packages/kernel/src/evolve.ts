// `evolve` folds one record into the state of its run, in place. Replaying a run's records is all of recovery.
import type { EntryDraft, TrailObject } from '@parley/trail'
import type { EventType } from '@parley/trail/events'
import { budgetFolds, countEntry } from './budget/charge.ts'
import { checkpointFolds } from './checkpoint/evolve.ts'
import { envelopeFolds } from './envelope/evolve.ts'
import { highwayFolds } from './highway/evolve.ts'
import { integrationFolds } from './integration/evolve.ts'
import { evolveObject } from './objects.ts'
import { portRightFolds } from './port-right/evolve.ts'
import { quarantineFolds } from './recovery/quarantine.ts'
import type { Fold, Folds, Run } from './run/run.ts'
import { signalFolds } from './signal/evolve.ts'
import { taskFolds } from './task/evolve.ts'
import { userFolds } from './user/evolve.ts'
import { topologyFolds, workspaceFolds } from './workspace/evolve.ts'
import { migrationFolds } from './workspace/migration.ts'
import { terminationFolds } from './workspace/terminate.ts'

const FOLDS: Folds = {
  ...workspaceFolds,
  ...topologyFolds,
  ...migrationFolds,
  ...terminationFolds,
  ...signalFolds,
  ...envelopeFolds,
  ...portRightFolds,
  ...checkpointFolds,
  ...integrationFolds,
  ...taskFolds,
  ...userFolds,
  ...highwayFolds,
  ...budgetFolds,
  ...quarantineFolds,
}

export function evolve(run: Run, record: EntryDraft | TrailObject): void {
  if (!('event_type' in record)) {
    run.objects++
    evolveObject(run, record)
    return
  }
  run.seq++
  const fold = FOLDS[record.event_type] as Fold<EventType> | undefined
  fold?.(run, record.body, record)
  if (run.counting) countEntry(run, record)
}
