// How a role comes about (W-ROLE-08): base, taxonomy rows, override, remove, add, in this order. What a set does not
// hold is denied (W-ROLE-01).
import type { SignalType } from '@parley/trail/events'
import { namesIn, type RoleDefinition, routesIn } from '../taxonomy/document.ts'
import { BASE_CAPABILITIES, type BaseRole } from './base.ts'

/** A matrix row of the taxonomy, seen from its sender (W-TAX-03). */
export interface SendRow {
  readonly type: string
  readonly to: string
}

export function baseRole(name: BaseRole, rows: readonly SendRow[] = []): Role {
  const { send, emit, create, read, writesMemory } = BASE_CAPABILITIES[name]
  return Object.freeze({
    name,
    base: name,
    send: sendMap([...send, ...rows]),
    removedReceive: new Set<string>(),
    read: new Set(read),
    create: new Set<string>(create),
    emit: new Set(emit),
    writesMemory,
  })
}

/** A derived role: `rows` are those that name it as sender itself; emission and memory stay as in `base`. */
export function derivedRole(definition: RoleDefinition, base: Role, rows: readonly SendRow[]): Role {
  const { name, add, remove, override } = definition
  const send = sendMap([...rowsOf(base), ...rows])
  const create = new Set(override?.checkpoint_types ?? base.create)
  const read = new Set(base.read)

  for (const { type, role } of routesIn(remove, 'send')) unsend(send, type, role)
  for (const type of namesIn(remove, 'create')) create.delete(type)
  for (const scope of namesIn(remove, 'read')) read.delete(scope)

  for (const { type, role } of routesIn(add, 'send')) addSend(send, type, role)
  for (const type of namesIn(add, 'create')) create.add(type)
  for (const scope of namesIn(add, 'read')) read.add(scope)

  return Object.freeze({ ...base, name, send, removedReceive: removedReceive(definition), read, create })
}

/** W-ROLE-06. Removed and added again is received; an added Receive alone opens nothing. */
function removedReceive({ add, remove }: RoleDefinition): ReadonlySet<string> {
  const removed = new Set(routesIn(remove, 'receive').map(route => route.type))
  for (const { type } of routesIn(add, 'receive')) removed.delete(type)
  return removed
}

function rowsOf(role: Role): SendRow[] {
  return [...role.send].flatMap(([type, targets]) => [...targets].map(to => ({ type, to })))
}

function sendMap(rows: readonly SendRow[]): Map<string, Set<string>> {
  const send = new Map<string, Set<string>>()
  for (const { type, to } of rows) addSend(send, type, to)
  return send
}

function addSend(send: Map<string, Set<string>>, type: string, to: string): void {
  const targets = send.get(type)
  if (targets === undefined) send.set(type, new Set([to]))
  else targets.add(to)
}

function unsend(send: Map<string, Set<string>>, type: string, to: string): void {
  const targets = send.get(type)
  if (targets?.delete(to) && targets.size === 0) send.delete(type)
}

export interface Role {
  readonly name: string
  readonly base: BaseRole
  /** Envelope type to the roles it may go to, base or derived; no type has an empty set. */
  readonly send: ReadonlyMap<string, ReadonlySet<string>>
  /** Envelope types that a holder of this role does not get, whoever may send them to its family (W-ROLE-06). */
  readonly removedReceive: ReadonlySet<string>
  readonly read: ReadonlySet<string>
  /** Checkpoint types; a registered one must also permit the role (W-CP-03, `mayCreate`). */
  readonly create: ReadonlySet<string>
  readonly emit: ReadonlySet<SignalType>
  /** Access.modify is "own files" (W-WS-22). */
  readonly writesMemory: boolean
}
