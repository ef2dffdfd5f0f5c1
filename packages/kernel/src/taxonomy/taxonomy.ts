// What a run's names mean: base vocabulary plus one taxonomy, checked and resolved before the root exists and fixed
// until the run ends (W-TAX-01, W-TAX-05, W-TAX-06).
import { compile, invariant, ok, type Result, refuse } from '@parley/core'
import { deepFreeze } from '../plain.ts'
import { BASE_CHECKPOINT_TYPES, BASE_ENVELOPE_TYPES, BASE_ROLES } from '../role/base.ts'
import { baseRole, derivedRole, type Role, type SendRow } from '../role/resolve.ts'
import { type Fault, faultsOf, recordedFaultsOf } from './checks.ts'
import { type Taxonomy, TaxonomySchema } from './document.ts'

export { PROTOCOL_VERSION, type Taxonomy, TaxonomySchema } from './document.ts'

interface CheckpointType {
  readonly name: string
  /** Listed literally: a derived role must be listed itself (W-TAX-04, W-CP-03); base types permit every role. */
  readonly permittedRoles: ReadonlySet<string>
  readonly requiredFields: readonly string[]
}

export interface Vocabulary {
  /** Of the taxonomy; null without one (W-TAX-08). */
  readonly id: string | null
  readonly version: string | null
  readonly document: Taxonomy | null
  readonly roles: ReadonlyMap<string, Role>
  readonly envelopeTypes: ReadonlySet<string>
  readonly checkpointTypes: ReadonlyMap<string, CheckpointType>
}

const taxonomy = compile(TaxonomySchema, { name: 'taxonomy' })

/** What every run understands, with or without a taxonomy (W-TAX-01). */
export const baseVocabulary: Vocabulary = vocabularyOf(null)

/** `invalid_taxonomy` lists every fault in `details.faults`; no document is the base vocabulary. */
export function loadTaxonomy(document: unknown): Result<Vocabulary> {
  return checked(document, faultsOf)
}

/** The vocabulary of a recorded run stays valid, even where a later rule would refuse its document. */
export function recordedVocabulary(document: unknown): Result<Vocabulary> {
  return checked(document, recordedFaultsOf)
}

function checked(document: unknown, find: (document: object) => readonly Fault[]): Result<Vocabulary> {
  if (document === null || document === undefined) return ok(baseVocabulary)
  const faults = find(document)
  const [first] = faults
  if (first !== undefined) {
    const more = faults.length > 1 ? ` (and ${faults.length - 1} more)` : ''
    const message = `The taxonomy was not loaded: ${first.message}${more}; correct it and start again`
    return refuse('invalid_taxonomy', message, { details: { faults } })
  }
  invariant(taxonomy.is(document), 'a document without faults has the shape of a taxonomy')
  // It stays what was checked, whoever holds it.
  return ok(vocabularyOf(deepFreeze(structuredClone(document))))
}

function vocabularyOf(document: Taxonomy | null): Vocabulary {
  const roles = rolesOf(document)
  const envelopeTypes = document?.envelope_types.map(type => type.name) ?? []
  return Object.freeze({
    id: document?.id ?? null,
    version: document?.version ?? null,
    document,
    roles,
    envelopeTypes: new Set<string>([...BASE_ENVELOPE_TYPES, ...envelopeTypes]),
    checkpointTypes: checkpointTypesOf(document, new Set(roles.keys())),
  })
}

function rolesOf(document: Taxonomy | null): ReadonlyMap<string, Role> {
  const rows = rowsBySender(document)
  const roles = new Map<string, Role>()
  for (const name of BASE_ROLES) roles.set(name, baseRole(name, rows.get(name)))
  for (const definition of document?.roles ?? []) {
    const base = roles.get(definition.extends)
    invariant(base !== undefined, 'a checked definition extends a base role')
    roles.set(definition.name, derivedRole(definition, base, rows.get(definition.name) ?? []))
  }
  return roles
}

/** W-TAX-03: each row joins the matrix. */
function rowsBySender(document: Taxonomy | null): ReadonlyMap<string, readonly SendRow[]> {
  const rows = (document?.envelope_types ?? []).flatMap(({ name, permissions }) =>
    permissions.map(row => ({ from: row.sender_role, type: name, to: row.receiver_role })),
  )
  return Map.groupBy(rows, row => row.from)
}

function checkpointTypesOf(
  document: Taxonomy | null,
  everyRole: ReadonlySet<string>,
): ReadonlyMap<string, CheckpointType> {
  const types = new Map<string, CheckpointType>()
  for (const name of BASE_CHECKPOINT_TYPES)
    types.set(name, Object.freeze({ name, permittedRoles: everyRole, requiredFields: [] }))
  for (const { name, permitted_roles, required_fields } of document?.checkpoint_types ?? [])
    types.set(
      name,
      Object.freeze({ name, permittedRoles: new Set(permitted_roles), requiredFields: required_fields ?? [] }),
    )
  return types
}
