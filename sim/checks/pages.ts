// What readers of a trail are shown is theirs to see (W-TRAIL-19, -20).
import type { RunModel } from '../model/model.ts'
import type { WorkspaceModel } from '../model/records.ts'
import { OBSERVERS } from '../rules/workspace.ts'
import { standingOf } from '../world/people.ts'
import type { World } from '../world/world.ts'
import { Violation } from './invariants.ts'

type Entries = readonly { readonly workspace: string | null }[]

/** W-TRAIL-19: an agent is shown what it may see, an observer all where that is configured. */
export function checkPage(
  { config, watch }: World,
  run: RunModel,
  reader: WorkspaceModel,
  entries: Entries,
  seen: ReadonlySet<string>,
): void {
  if (reader.parent === null) return
  if (config.runtime.observersReadGlobally && OBSERVERS.has(reader.role)) return
  const hidden = entries.find(
    ({ workspace }) => workspace === null || !(seen.has(workspace) || run.sees(reader, workspace)),
  )
  if (hidden)
    watch.fail(
      new Violation('W-TRAIL-19 a query shows what the reader may see', `${reader.id} saw ${hidden.workspace}`),
    )
}

/** W-TRAIL-20: a person is shown what is or was their own, everything with the capability for that. */
export function checkUserPage({ config, models, watch }: World, run: RunModel, user: string, entries: Entries): void {
  const standing = standingOf(user, config.people, models)
  if (!standing || standing.holds('view_trail_any')) return
  const owns = (id: string) => run.workspaces.get(id)?.owners.includes(user) === true
  const hidden = entries.find(entry => entry.workspace === null || !owns(entry.workspace))
  if (hidden)
    watch.fail(new Violation('W-TRAIL-20 a person is shown what is their own', `${user} saw ${hidden.workspace}`))
}
