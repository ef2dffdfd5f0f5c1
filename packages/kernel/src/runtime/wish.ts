// A run that is started for a person's wish: what is said of it together with its root.
import type { WorkspaceId } from '@parley/core'
import type { Command } from '../command.ts'
import type { EnvelopeDraft } from '../envelope/envelope.ts'
import { plain } from '../plain.ts'

/** What a person wants of a run that is started for it (W-HWY-17). */
export interface Wish {
  readonly user: string
  readonly mail: Omit<EnvelopeDraft, 'to'>
}

/** As a coordinator that is bound at once says it. */
export function beginning(root: WorkspaceId, { user, mail }: Wish): readonly Command[] {
  return [
    { type: 'emit', caller: root, draft: { type: 'ready' } },
    { type: 'emit', caller: root, draft: { type: 'started' } },
    { type: 'inject', user, draft: plain({ ...mail, to: root }) },
  ]
}
