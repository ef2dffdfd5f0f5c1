// A document taken apart for the load checks: what has the right shape, and what is wrong with the rest. An entry that
// has not is left out of the other checks, but its name counts as registered, so that one fault does not cause others.

import { compile, type SchemaProblem, type Validator } from '@parley/core'
import { BASE_CHECKPOINT_TYPES, BASE_ENVELOPE_TYPES, BASE_ROLES } from '../role/base.ts'
import {
  type CheckpointTypeDefinition,
  CheckpointTypeSchema,
  type EnvelopeTypeDefinition,
  EnvelopeTypeSchema,
  FrameSchema,
  type RoleDefinition,
  RoleSchema,
} from './document.ts'
import { taxonomyLimits } from './limits.ts'

export interface Parts {
  readonly protocolVersion: unknown
  readonly misfits: readonly string[]
  readonly roles: Registry<RoleDefinition>
  readonly envelopeTypes: Registry<EnvelopeTypeDefinition>
  readonly checkpointTypes: Registry<CheckpointTypeDefinition>
}

export interface Registry<Entry> {
  readonly entries: readonly Entry[]
  /** Base names, and the name of every entry. */
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
    registryOf(name, listIn(member(name), max), shape, base)

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

function listIn(value: unknown, max: number): readonly unknown[] {
  return Array.isArray(value) && value.length <= max ? value : []
}

function registryOf<Entry>(
  name: string,
  list: readonly unknown[],
  shape: Validator<Entry>,
  base: readonly string[],
): Registry<Entry> {
  return {
    entries: list.filter(shape.is),
    names: new Set([...base, ...list.flatMap(nameOf)]),
    misfits: list.flatMap((entry, index) =>
      shape.problems(entry).map(problem => `${name}[${index}]: ${describe(problem)}`),
    ),
  }
}

function nameOf(entry: unknown): readonly string[] {
  const name = typeof entry === 'object' && entry !== null && 'name' in entry ? entry.name : undefined
  return typeof name === 'string' ? [name] : []
}

function describe({ path, expected, actual }: SchemaProblem): string {
  return `${path}: expected ${expected}, got ${actual}`
}
