// The work that a person judges at a gate: fetched when the question comes up or is listed, and shown with it.
import { cliLimits, SLOW } from '../limits.ts'
import type { NodeClient } from '../node/client.ts'
import type { GateView, ListedGate, WorkView } from '../node/views.ts'
import { judgesWork } from '../render/waiting.ts'

/** Undefined until it is there, and where a gate is about no work. */
export type GateWork = () => WorkView | undefined

export function gateWork(api: NodeClient, gate: GateView, arrived: () => void): GateWork {
  let work: WorkView | undefined
  if (judgesWork(gate))
    void workAt(api, gate, true).then(found => {
      work = found
      arrived()
    })
  return () => work
}

/** The first of them with their work, but for its patch. */
export async function withWork(api: NodeClient, gates: readonly GateView[]): Promise<readonly ListedGate[]> {
  const shown = new Set(gates.filter(judgesWork).slice(0, cliLimits.listedGates))
  return Promise.all(
    gates.map(async gate => {
      const work = shown.has(gate) ? await workAt(api, gate, false) : undefined
      return work ? { ...gate, work } : gate
    }),
  )
}

async function workAt(api: NodeClient, { run, task, workspace = task! }: GateView, patch: boolean) {
  try {
    return await api.results.show({ run, task: workspace, patch }, SLOW)
  } catch {
    // The question can be answered without it.
    return undefined
  }
}
