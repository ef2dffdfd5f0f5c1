// Mail outside of the process (zero-trust, W-SEC-13) travels sealed under its channel's key. What cannot be opened
// arrives as nothing, whose proof fails (W-SEC-10).
import { canonicalize } from '@parley/core'
import type { RunTrail } from '@parley/trail'
import type { DeploymentModel } from '@parley/trail/events'
import type { Delivery, Transport } from './transport.ts'

/** Keeps what is sealed for a transport apart from what is sealed for the disk. */
const IN_TRANSIT = 'envelope_in_transit'

export function transportIn(deployment: DeploymentModel, transport: Transport, trail: RunTrail): Transport {
  const stays = transport.protection === 'in-process' || deployment !== 'zero-trust'
  return stays ? transport : sealedTransport(transport, trail)
}

function sealedTransport(inner: Transport, trail: RunTrail): Transport {
  return {
    ...(inner.signals !== undefined && { signals: inner.signals }),
    carry(delivery, arrive) {
      if (delivery.kind !== 'envelope' || !delivery.envelope) return inner.carry(delivery, arrive)
      const { id, from, to, envelope } = delivery
      const place = { id, kind: IN_TRANSIT }
      const sealed = trail.content.sealText({ of: 'mail', from, to }, place, canonicalize(envelope))
      const carried: Delivery = { ...delivery, envelope: undefined, ...(sealed !== undefined && { sealed }) }
      return inner.carry(carried, arrived =>
        arrived === undefined ? arrive() : arrive(openArrived(trail, place, arrived)),
      )
    },
  }
}

function openArrived(
  trail: RunTrail,
  place: { readonly id: string; readonly kind: string },
  arrived: unknown,
): unknown {
  const text = typeof arrived === 'string' ? trail.content.openText(place, arrived) : undefined
  return text === undefined ? null : (JSON.parse(text) as unknown)
}
