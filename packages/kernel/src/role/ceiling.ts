// The ceiling of derived roles (W-ROLE-09, A-53): what no definition may contain, whatever its base.

import { CAPABILITY_ACTIONS, type Capability, namesIn, type RoleDefinition, routesIn } from '../taxonomy/document.ts'

/** Powers of the coordinator that no definition may name, neither as an action nor as a target. */
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

/** Envelope types that only a coordinator or a delegate sends. */
const COORDINATOR_TYPES = ['directive', 'feedback'] as const

/** What a definition holds that it must not, in words that follow the name of the role. */
export function aboveCeiling({ extends: base, add, remove, override }: RoleDefinition): readonly string[] {
  const faults: string[] = []
  const overridden = override?.checkpoint_types ?? []

  const all = [...add, ...remove]
  for (const { action } of all)
    if (!isOneOf(CAPABILITY_ACTIONS, action) && !isOneOf(CEILING_NAMES, action))
      faults.push(`uses the action ${JSON.stringify(action)}; there are ${CAPABILITY_ACTIONS.join(', ')}`)
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

function isOneOf(names: readonly string[], name: string): boolean {
  return names.includes(name)
}
