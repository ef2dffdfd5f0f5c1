// The processes of turns that are there, for tests that want none to be left.
import { readProcesses } from '../process-table.ts'
import { ownLine } from '../processes.ts'

/** Without the caller and its ancestors. */
export async function findMarked(
  prefix: string,
): Promise<readonly { readonly pid: number; readonly marker: string }[]> {
  const entries = await readProcesses()
  const spared = ownLine(entries)
  return entries.flatMap(({ pid, marker }) => (marker?.startsWith(prefix) && !spared.has(pid) ? [{ pid, marker }] : []))
}
