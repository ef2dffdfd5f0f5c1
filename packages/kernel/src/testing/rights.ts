// Port rights for tests: granting with a name, and the rows that rights leave on the trail.
import { type Result, type RightId, unwrap } from '@parley/core'
import type { AgentHandle } from '../runtime/handle/agent.ts'
import { type Fixture, type Row, refused } from './fixture.ts'

/** The active rights of a holder to a target, oldest first. */
export const rightsBetween = async (f: Fixture, holder: string, target: string, type?: string): Promise<RightId[]> =>
  unwrap(await f.root.rights())
    .filter(each => each.holder === f.id(holder) && each.target === f.id(target) && each.status === 'active')
    .filter(each => type === undefined || each.type === type)
    .map(each => each.id)

/** Grants a right and gives it a name. */
export async function grant(
  f: Fixture,
  name: string,
  type: 'send' | 'send_once',
  holder: string,
  target: string,
): Promise<RightId> {
  const id = unwrap(await f.root.grantRight(type, f.id(holder), f.id(target)))
  f.name(id, name)
  return id
}

export const granted = (right_id: string, right_type: string, holder: string, target: string): Row => [
  'port_right_created',
  holder,
  'system',
  { right_id, right_type, holder, target, created_by: 'R' },
]

export const revoked = (right_id: string, right_type: string, holder: string, target: string): Row => [
  'port_right_revoked',
  holder,
  'system',
  { right_id, right_type, holder, target, revoked_by: 'R', reason: 'test' },
]

export const used = (right_id: string, holder: string, target: string, via_envelope: string): Row => [
  'port_right_consumed',
  holder,
  'protocol',
  { right_id, holder, target, via_envelope },
]

export const moved = (
  right_id: string,
  right_type: string,
  from_holder: string,
  to_holder: string,
  target: string,
  via_envelope: string,
): Row => [
  'port_right_transferred',
  to_holder,
  'protocol',
  { right_id, right_type, from_holder, to_holder, target, via_envelope },
]

/** Sends and expects a rejection, whose id gets the name. */
export async function sendBad(f: Fixture, from: AgentHandle, name: string, draft: object): Promise<string> {
  const result: Result<unknown> = await from.send(draft as never)
  if (!result.ok) f.name(result.error.details.envelope as string, name)
  return refused(result)
}
