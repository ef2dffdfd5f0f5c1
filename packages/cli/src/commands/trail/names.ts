// What the workspaces of a run are about, for people who read its record.
import type { NodeClient } from '../../node/client.ts'
import { type WorkNames, workNames } from '../../render/trail.ts'

/** Undefined for a run that cannot be shown: its record can still be read. */
export async function namesIn(api: NodeClient, run: string): Promise<WorkNames | undefined> {
  try {
    return workNames(await api.runs.show({ run }))
  } catch {
    return undefined
  }
}
