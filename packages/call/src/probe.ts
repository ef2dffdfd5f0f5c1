// Finding out in which spelling a peer answers (CALL-EVT-02): one harmless request in every spelling at the same time.
import type { PendingRequest } from './pending.ts'
import { type Profile, type ProfileName, profileOf } from './profile/profile.ts'
import type { StreamId } from './transport/transport.ts'

const LIST = '/services/list'

/** `learn` is told the profile, or nothing where the answer shows none: an answer it is all the same. */
export function probeRequest(
  id: string,
  stream: StreamId | undefined,
  expires: number,
  learn: (profile: Profile | undefined) => void,
): PendingRequest {
  return {
    id,
    path: LIST,
    profile: probeProfile(learn),
    parentRequestId: undefined,
    stream,
    once: true,
    expires,
    value: () => learn(undefined),
    end: () => learn(undefined),
    fail: () => learn(undefined),
  }
}

export function probeText({ id, path }: PendingRequest): string {
  const payload = { name: path, operationId: path, requestId: id, input: {} }
  return JSON.stringify({ type: 'call.requested', id, payload })
}

/** Not a spelling of its own: looks at the answer to the probe and tells which spelling it is in. */
function probeProfile(learn: (profile: Profile) => void): Profile {
  return {
    ...profileOf('seed'),
    value(payload) {
      const profile = spelling(payload)
      if (profile) learn(profileOf(profile))
      return payload
    },
  }
}

function spelling(payload: unknown): ProfileName | undefined {
  if (typeof payload !== 'object' || payload === null) return undefined
  const { operations, output, requestId } = payload as {
    operations?: unknown
    output?: { operations?: unknown } | null
    requestId?: unknown
  }
  if (Array.isArray(operations)) return 'seed'
  if (Array.isArray(output?.operations)) return 'core'
  return requestId === undefined ? undefined : 'ops'
}

/** An error in the OPS spelling tells as much as an answer does. */
export function settleProbe(request: PendingRequest, payload: unknown): void {
  if (request.path === LIST && spelling(payload) === 'ops') request.profile.value(payload)
}
