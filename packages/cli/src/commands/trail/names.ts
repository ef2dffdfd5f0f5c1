// What the workspaces of a run are about, for people who read its record.
import type { NodeClient } from '../../node/client.ts'
import { type WorkNames, workNames } from '../../render/trail.ts'

/** Undefined for a run that cannot be shown: its record can still be read. */
export async function namesIn(
  api: NodeClient,
  run: string,
): Promise<{ readonly names: WorkNames; readonly cursor: number } | undefined> {
  try {
    const view = await api.runs.show({ run })
    return { names: workNames(view), cursor: view.cursor }
  } catch {
    return undefined
  }
}
