// Taxonomies for tests: a document and its parts, in few words.
import { unwrap } from '@parley/core'
import type { RoleDefinition } from '../taxonomy/document.ts'
import { loadTaxonomy, type Taxonomy, type Vocabulary } from '../taxonomy/taxonomy.ts'

export const route = (action: string, type: string, role: string) => ({ action, target: { type, role } })

/** A worker in all but its name. */
export const role = (name: string, definition: Partial<RoleDefinition> = {}): RoleDefinition => ({
  name,
  extends: 'worker',
  add: [],
  remove: [],
  ...definition,
})

export const envelopeType = (name: string, ...rows: (readonly [sender: string, receiver: string])[]) => ({
  name,
  description: '',
  permissions: rows.map(([sender_role, receiver_role]) => ({ sender_role, receiver_role })),
})

export const checkpointType = (name: string, ...permitted_roles: string[]) => ({
  name,
  description: '',
  permitted_roles,
})

export const taxonomyOf = (parts: Partial<Taxonomy>): Taxonomy => ({
  id: 't',
  version: '1.2.0',
  protocol_version: '0.1',
  roles: [],
  envelope_types: [],
  checkpoint_types: [],
  ...parts,
})

/** One role, which sends notes to the coordinator and creates plans. */
export const helperTaxonomy = taxonomyOf({
  roles: [role('helper')],
  envelope_types: [envelopeType('note', ['helper', 'coordinator'])],
  checkpoint_types: [checkpointType('plan', 'helper')],
})

export function vocabularyOf(parts: Partial<Taxonomy>): Vocabulary {
  return unwrap(loadTaxonomy(taxonomyOf(parts)))
}
