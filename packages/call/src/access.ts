// Access control (CALL-ACL): an operation's block and path rules, decided on the proved identity, never on a claim.
import type { Principal } from '@parley/core'
import { CallError } from './error.ts'
import type { AccessControl } from './operation-spec.ts'
import { PathPattern } from './path.ts'

/** A block as it is checked; an empty any-list counts as absent (D-11). */
export interface AccessRule {
  readonly requiredScopes: readonly string[]
  readonly requiredScopesAny: readonly string[] | undefined
  readonly resourceType: string | undefined
  readonly resourceAction: string | undefined
  /** Whether there is nothing to check. */
  readonly open: boolean
}

/** Throws for what cannot be enforced: an access control that is missing or not understood must not let anybody in. */
export function accessRule(access: AccessControl): AccessRule {
  const { requiredScopes = [], requiredScopesAny, resourceType, resourceAction, ...unknown } = accessBlock(access)
  const [strange] = Object.keys(unknown)
  if (strange !== undefined) throw new TypeError(`access control has no member '${strange.slice(0, 80)}'`)
  if (!isTexts(requiredScopes) || !(requiredScopesAny === undefined || isTexts(requiredScopesAny)))
    throw new TypeError('access control must name scopes as a list of texts')
  if (![resourceType, resourceAction].every(each => each === undefined || typeof each === 'string'))
    throw new TypeError('access control must name resource type and action as texts')
  if (resourceAction !== undefined && resourceType === undefined)
    throw new TypeError('access control names a resource action without a resource type')
  const any = requiredScopesAny?.length ? requiredScopesAny : undefined
  const open = requiredScopes.length === 0 && any === undefined && resourceType === undefined
  return { requiredScopes, requiredScopesAny: any, resourceType, resourceAction, open }
}

export function accessBlock<T>(given: T): T & object {
  if (typeof given === 'object' && given !== null && !Array.isArray(given)) return given
  throw new TypeError('access control must be an object; {} lets everybody in')
}

export function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every(item => typeof item === 'string')
}

/** CALL-ACL-03: all parts that are there must pass. */
export function allows(rule: AccessRule, identity: Principal): boolean {
  const { scopes } = identity
  if (!rule.requiredScopes.every(scope => scopes.includes(scope))) return false
  if (rule.requiredScopesAny && !rule.requiredScopesAny.some(scope => scopes.includes(scope))) return false
  return rule.resourceType === undefined || allowsResource(rule.resourceType, rule.resourceAction, identity)
}

/** Both forms of keys are in use: the type alone, and `type:id`. */
function allowsResource(type: string, action: string | undefined, identity: Principal): boolean {
  const prefix = `${type}:`
  return Object.entries(identity.resources ?? {}).some(
    ([key, actions]) => (key === type || key.startsWith(prefix)) && (action === undefined || actions.includes(action)),
  )
}

/** Undefined if the caller may; otherwise the refusal (CALL-ACL-04). */
export function refusal(rule: AccessRule, identity: Principal | undefined, explain = false): CallError | undefined {
  if (rule.open) return undefined
  if (!identity) return new CallError('FORBIDDEN', 'authentication required')
  if (allows(rule, identity)) return undefined
  const missing = rule.requiredScopes.filter(scope => !identity.scopes.includes(scope))
  return new CallError('FORBIDDEN', 'access denied', explain ? { details: { missing_scopes: missing } } : {})
}

export interface PathRule {
  readonly pattern: string
  readonly access: AccessControl
}

/** The path rules in force; swapped as a whole, so that a call sees one set or the other. */
export class PathRules {
  #rules: readonly { readonly pattern: PathPattern; readonly rule: AccessRule }[] = []

  constructor(rules: readonly PathRule[] = []) {
    this.replace(rules)
  }

  /** Throws for a bad pattern or block, and then changes nothing. */
  replace(rules: readonly PathRule[]): void {
    this.#rules = rules.map(({ pattern, access }) => ({ pattern: new PathPattern(pattern), rule: accessRule(access) }))
  }

  get none(): boolean {
    return this.#rules.length === 0
  }

  /** Every rule that matches must let the caller in. */
  refusal(path: string, identity: Principal | undefined, explain = false): CallError | undefined {
    for (const { pattern, rule } of this.#rules) {
      if (!pattern.matches(path)) continue
      const refused = refusal(rule, identity, explain)
      if (refused) return refused
    }
    return undefined
  }
}
