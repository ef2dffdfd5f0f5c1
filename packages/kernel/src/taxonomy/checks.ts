// The load checks of W-TAX-05. Each finds all its faults, whatever the others find; malformed entries are left out, but
// their names count as registered. The ceiling of derived roles: W-ROLE-09, A-53.
import { compile, type Validator } from '@parley/core'
import { RESERVED_ACTORS } from '@parley/trail/events'
import {
  BASE_CAPABILITIES,
  BASE_CHECKPOINT_TYPES,
  BASE_ENVELOPE_TYPES,
  BASE_ROLES,
  EXTENSIBLE_ROLES,
} from '../role/base.ts'
import {
  CAPABILITY_ACTIONS,
  type Capability,
  type CheckpointTypeDefinition,
  CheckpointTypeSchema,
  type EnvelopeTypeDefinition,
  EnvelopeTypeSchema,
  FrameSchema,
  NAME_ACTIONS,
  namesIn,
  PROTOCOL_VERSION,
  ROUTE_ACTIONS,
  type RoleDefinition,
  RoleSchema,
  routesIn,
  taxonomyLimits,
} from './document.ts'

export interface Fault {
  /** Number of the check in W-TAX-05. */
  readonly check: number
  readonly message: string
}

/** W-TAX-05, in its order. An actor word as a role name would let an agent sign as somebody else (W-TRAIL-02). */
const CHECKS: readonly [check: number, find: (parts: Parts) => readonly string[]][] = [
  [1, sameProtocolVersion],
  [2, onlyTheRegistries],
  [3, ({ roles }) => freshNames('role', roles, [...BASE_ROLES, ...RESERVED_ACTORS])],
  [4, ({ envelopeTypes }) => freshNames('envelope type', envelopeTypes, BASE_ENVELOPE_TYPES)],
  [5, ({ checkpointTypes }) => freshNames('checkpoint type', checkpointTypes, BASE_CHECKPOINT_TYPES)],
  [6, extendsOneOfTwo],
  [7, ({ roles }) => ofEach(roles, 'role', aboveCeiling)],
  [8, createsKnownTypes],
  [9, addsKnownRoutes],
  [10, rowsNameKnownRoles],
  [11, hasRows],
  [12, permitsKnownRoles],
  [13, hasPermittedRoles],
]

/** More of the ceiling. Runs on record may have begun before there were these rules. */
const LATER_CHECKS: typeof CHECKS = [
  [7, readsNoMoreThanItsBase],
  [7, observersReceiveNothing],
  [9, addsNoWayToObservers],
  [10, rowsSpareObservers],
]

export function faultsOf(document: unknown): readonly Fault[] {
  return faultsBy(document, [...CHECKS, ...LATER_CHECKS]).toSorted((one, other) => one.check - other.check)
}

export function recordedFaultsOf(document: unknown): readonly Fault[] {
  return faultsBy(document, CHECKS)
}

function faultsBy(document: unknown, checks: typeof CHECKS): readonly Fault[] {
  if (typeof document !== 'object' || document === null)
    return [{ check: 2, message: `a taxonomy is an object, not a ${typeof document}` }]
  const parts = partsOf(document)
  return checks.flatMap(([check, find]) => find(parts).map(message => ({ check, message })))
}

function sameProtocolVersion({ protocolVersion }: Parts): readonly string[] {
  if (protocolVersion === PROTOCOL_VERSION) return []
  return [`protocol_version is not ${quote(PROTOCOL_VERSION)}, which this runtime speaks`]
}

function onlyTheRegistries({ misfits, roles }: Parts): readonly string[] {
  return [...misfits, ...ofEach(roles, 'role', ({ add, remove }) => [...add, ...remove].flatMap(mispaired))]
}

function mispaired({ action, target }: Capability): readonly string[] {
  const isName = typeof target === 'string'
  if (isName && isOneOf(ROUTE_ACTIONS, action)) return [`has ${action} of a name; it takes a type and a role`]
  if (!isName && isOneOf(NAME_ACTIONS, action)) return [`has ${action} of a type and a role; it takes a name`]
  return []
}

function freshNames(
  kind: string,
  { entries }: Registry<{ readonly name: string }>,
  taken: readonly string[],
): readonly string[] {
  const seen = new Set<string>()
  return entries.flatMap(({ name }) => {
    if (taken.includes(name)) return [`${kind} ${quote(name)} has a name of the protocol`]
    if (seen.has(name)) return [`${kind} ${quote(name)} is registered twice`]
    seen.add(name)
    return []
  })
}

function extendsOneOfTwo({ roles }: Parts): readonly string[] {
  return ofEach(roles, 'role', role =>
    isOneOf(EXTENSIBLE_ROLES, role.extends)
      ? []
      : [`extends ${quote(role.extends)}; a role extends ${EXTENSIBLE_ROLES.join(' or ')}`],
  )
}

function createsKnownTypes({ roles, checkpointTypes }: Parts): readonly string[] {
  const created = ({ add, override }: RoleDefinition) => [
    ...(override?.checkpoint_types ?? []),
    ...namesIn(add, 'create'),
  ]
  return ofEach(roles, 'role', role => unknown('checkpoint type', created(role), checkpointTypes))
}

function addsKnownRoutes({ roles, envelopeTypes }: Parts): readonly string[] {
  return ofEach(roles, 'role', ({ add }) =>
    [...routesIn(add, 'send'), ...routesIn(add, 'receive')].flatMap(route => [
      ...unknown('envelope type', [route.type], envelopeTypes),
      ...unknown('role', [route.role], roles),
    ]),
  )
}

/** §5.3: what the coordinator alone reads is above everybody's ceiling. */
function readsNoMoreThanItsBase({ roles }: Parts): readonly string[] {
  const above = BASE_CAPABILITIES.coordinator.read
  return ofEach(roles, 'role', ({ add }) =>
    namesIn(add, 'read')
      .filter(scope => above.includes(scope))
      .map(scope => `adds reading of ${scope}, which is the coordinator's`),
  )
}

/** §5.2: an observer sends nothing and receives nothing, whatever it is derived into. */
function observersReceiveNothing({ roles }: Parts): readonly string[] {
  return ofEach(roles, 'role', ({ extends: base, add }) =>
    base === 'observer' && routesIn(add, 'receive').length > 0
      ? ['extends observer and adds receiving; observers receive nothing']
      : [],
  )
}

function addsNoWayToObservers({ roles }: Parts): readonly string[] {
  const observers = observersIn(roles)
  return ofEach(roles, 'role', ({ add }) =>
    routesIn(add, 'send')
      .filter(route => observers.has(route.role))
      .map(({ type, role }) => `adds sending of ${type} to ${quote(role)}; observers receive nothing`),
  )
}

function rowsSpareObservers({ roles, envelopeTypes }: Parts): readonly string[] {
  const observers = observersIn(roles)
  return ofEach(envelopeTypes, 'envelope type', ({ permissions }) =>
    permissions.flatMap(({ sender_role, receiver_role }) =>
      [sender_role, receiver_role]
        .filter(role => observers.has(role))
        .map(role => `has a row with ${quote(role)}; observers send and receive nothing`),
    ),
  )
}

function observersIn({ entries }: Registry<RoleDefinition>): ReadonlySet<string> {
  const derived = entries.filter(role => role.extends === 'observer').map(role => role.name)
  return new Set(['observer', ...derived])
}

function rowsNameKnownRoles({ roles, envelopeTypes }: Parts): readonly string[] {
  return ofEach(envelopeTypes, 'envelope type', ({ permissions }) =>
    permissions.flatMap(row => unknown('role', [row.sender_role, row.receiver_role], roles)),
  )
}

function hasRows({ envelopeTypes }: Parts): readonly string[] {
  return ofEach(envelopeTypes, 'envelope type', ({ permissions }) =>
    permissions.length > 0 ? [] : ['has no permissions; nobody could send it'],
  )
}

function permitsKnownRoles({ roles, checkpointTypes }: Parts): readonly string[] {
  return ofEach(checkpointTypes, 'checkpoint type', type => unknown('role', type.permitted_roles, roles))
}

function hasPermittedRoles({ checkpointTypes }: Parts): readonly string[] {
  return ofEach(checkpointTypes, 'checkpoint type', ({ permitted_roles }) =>
    permitted_roles.length > 0 ? [] : ['has no permitted_roles; nobody could create it'],
  )
}

function ofEach<Entry extends { readonly name: string }>(
  { entries }: Registry<Entry>,
  kind: string,
  find: (entry: Entry) => readonly string[],
): readonly string[] {
  return entries.flatMap(entry => find(entry).map(fault => `${kind} ${quote(entry.name)} ${fault}`))
}

function unknown(kind: string, names: readonly string[], registry: Registry<unknown>): readonly string[] {
  return names.filter(name => !registry.names.has(name)).map(name => `names the unknown ${kind} ${quote(name)}`)
}

function isOneOf(names: readonly string[], name: string): boolean {
  return names.includes(name)
}

function quote(name: string): string {
  return JSON.stringify(name)
}

export interface Parts {
  readonly protocolVersion: unknown
  readonly misfits: readonly string[]
  readonly roles: Registry<RoleDefinition>
  readonly envelopeTypes: Registry<EnvelopeTypeDefinition>
  readonly checkpointTypes: Registry<CheckpointTypeDefinition>
}

export interface Registry<Entry> {
  readonly entries: readonly Entry[]
  readonly names: ReadonlySet<string>
  readonly misfits: readonly string[]
}

const frame = compile(FrameSchema, { name: 'taxonomy' })
const role = compile(RoleSchema)
const envelopeType = compile(EnvelopeTypeSchema)
const checkpointType = compile(CheckpointTypeSchema)

export function partsOf(document: object): Parts {
  const member = (name: string) => (Object.hasOwn(document, name) ? Reflect.get(document, name) : undefined)
  const registry = <Entry>(name: string, max: number, shape: Validator<Entry>, base: readonly string[]) =>
    registryOf(name, member(name), max, shape, base)

  const { roles: maxRoles, envelopeTypes: maxEnvelopes, checkpointTypes: maxCheckpoints } = taxonomyLimits
  const roles = registry('roles', maxRoles, role, BASE_ROLES)
  const envelopeTypes = registry('envelope_types', maxEnvelopes, envelopeType, BASE_ENVELOPE_TYPES)
  const checkpointTypes = registry('checkpoint_types', maxCheckpoints, checkpointType, BASE_CHECKPOINT_TYPES)
  const misfits = [
    ...frame.problems(document).map(describe),
    ...roles.misfits,
    ...envelopeTypes.misfits,
    ...checkpointTypes.misfits,
  ]
  return { protocolVersion: member('protocol_version'), misfits, roles, envelopeTypes, checkpointTypes }
}

function registryOf<Entry>(
  name: string,
  given: unknown,
  max: number,
  shape: Validator<Entry>,
  base: readonly string[],
): Registry<Entry> {
  const list: readonly unknown[] = Array.isArray(given) && given.length <= max ? given : []
  return {
    entries: list.filter(shape.is),
    names: new Set([...base, ...list.flatMap(nameOf)]),
    misfits: list.flatMap((entry, index) =>
      shape.problems(entry).map(problem => `${name}[${index}]: ${describe(problem)}`),
    ),
  }
}

function describe({ path, expected, actual }: Record<'path' | 'expected' | 'actual', string>): string {
  return `${path}: expected ${expected}, got ${actual}`
}

function nameOf(entry: unknown): readonly string[] {
  const name = typeof entry === 'object' && entry !== null && 'name' in entry ? entry.name : undefined
  return typeof name === 'string' ? [name] : []
}

export const CEILING_NAMES = [
  'create_workspace',
  'abort_workspace',
  'assign_role',
  'grant_delegation',
  'perform_integration',
  'manage_budgets',
  'grant_visibility',
  'configure_highway',
] as const

const COORDINATOR_TYPES = ['directive', 'feedback'] as const

function aboveCeiling({ extends: base, add, remove, override }: RoleDefinition): readonly string[] {
  const faults: string[] = []
  const overridden = override?.checkpoint_types ?? []

  const all = [...add, ...remove]
  for (const { action } of all)
    if (!isOneOf(CAPABILITY_ACTIONS, action) && !isOneOf(CEILING_NAMES, action))
      faults.push(`uses the action ${quote(action)}; there are ${CAPABILITY_ACTIONS.join(', ')}`)
  for (const name of [...all.flatMap(namesOf), ...overridden])
    if (isOneOf(CEILING_NAMES, name)) faults.push(`names ${name}, which no derived role can hold`)

  for (const { type } of routesIn(add, 'send'))
    if (isOneOf(COORDINATOR_TYPES, type)) faults.push(`adds sending of ${type}, which is the coordinator's`)

  if (base === 'observer') {
    if (add.some(capability => capability.action === 'send'))
      faults.push('extends observer and adds sending; observers send nothing')
    if ([...namesIn(add, 'create'), ...overridden].includes('artifact'))
      faults.push('extends observer and creates artifact; observers create no artifacts')
  }
  return faults
}

function namesOf({ action, target }: Capability): readonly string[] {
  return typeof target === 'string' ? [action, target] : [action, target.type, target.role]
}
