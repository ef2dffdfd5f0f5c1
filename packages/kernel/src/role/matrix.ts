// The permission matrix (W-ROLE-05, W-ROLE-06), who creates which checkpoints (W-CP-03), authorities.
import type { Vocabulary } from '../taxonomy/taxonomy.ts'
import { OPERATION_NAMES, OPERATIONS } from './base.ts'
import { baseRole, type Role } from './resolve.ts'

export interface Party {
  readonly role: string
  readonly delegate: boolean
}

export type Relation = 'sender_above' | 'receiver_above' | 'apart'

/** W-ROLE-06. A role or type that is not registered is denied like any other. */
export function maySend(
  vocabulary: Vocabulary,
  sender: Party,
  type: string,
  receiver: Party,
  relation: Relation,
): boolean {
  const to = vocabulary.roles.get(receiver.role)
  // Asked of its own role whatever the facet: what a definition removed, a delegate does not get either.
  if (to === undefined || to.removedReceive.has(type)) return false
  // A delegate is coordinator towards its own subtree, and its own role towards everyone.
  const fromCoordinator = sender.delegate && relation === 'sender_above'
  const toCoordinator = receiver.delegate && relation === 'receiver_above'
  const eligible = (from: string) => {
    const targets = vocabulary.roles.get(from)?.send.get(type)
    if (targets === undefined) return false
    // A row that names a base role covers the roles derived from it.
    return targets.has(to.name) || targets.has(to.base) || (toCoordinator && targets.has('coordinator'))
  }
  return eligible(sender.role) || (fromCoordinator && eligible('coordinator'))
}

/** Whether the matrix lets one send the other at least one type: the condition of a default send right (W-PORT-03). */
export function maySendAny(vocabulary: Vocabulary, sender: Party, receiver: Party, relation: Relation): boolean {
  for (const type of vocabulary.envelopeTypes) if (maySend(vocabulary, sender, type, receiver, relation)) return true
  return false
}

/** W-CP-03: the role's Create set holds the type, and the type permits the role. */
export function mayCreate(vocabulary: Vocabulary, role: string, checkpointType: string): boolean {
  const created = vocabulary.roles.get(role)?.create.has(checkpointType) === true
  return created && vocabulary.checkpointTypes.get(checkpointType)?.permittedRoles.has(role) === true
}

/** A-07, W-ROLE-11: `authority.actions` in a fixed order; `coordinator` is the vocabulary's, for delegates. */
export function actionsOf(
  role: Role,
  delegate: boolean,
  coordinator: Role = baseRole('coordinator'),
): readonly string[] {
  const sent = new Set([...role.send.keys(), ...(delegate ? coordinator.send.keys() : [])])
  return [
    ...[...sent].map(type => `send:${type}`),
    ...[...role.emit].map(type => `emit:${type}`),
    ...[...role.create].map(type => `create:${type}`),
    ...[...role.read].map(scope => `access:read:${scope}`),
    ...(role.writesMemory ? ['access:own_memory'] : []),
    ...operationsOf(role, delegate).map(name => `operation:${name}`),
  ]
}

function operationsOf(role: Role, delegate: boolean): readonly string[] {
  if (role.base === 'coordinator') return OPERATION_NAMES.filter(name => OPERATIONS[name].root)
  return delegate ? OPERATION_NAMES.filter(name => OPERATIONS[name].delegate !== 'no') : []
}
