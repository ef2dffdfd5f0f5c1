// What a turn cost: `Usage` is what an agent's output tells about itself, `TurnMeter` is what the adapter measured.
import type { AgentAdapter, TurnEvent, TurnInput, TurnResult, Usage } from '@parley/core'

/** Measured for every turn, whatever the agent says. */
export interface TurnMeter {
  readonly wallMs: number
  /** Bytes of standard output and standard error; of a function, the bytes of its answer. */
  readonly outputBytes: number
}

export type MeteredResult = TurnResult & { readonly meter: TurnMeter }

/** An adapter whose results say what was measured. */
export interface MeteredAdapter extends AgentAdapter {
  takeTurn(input: TurnInput, emit: (event: TurnEvent) => void): Promise<MeteredResult>
}

const fields = ['tokensIn', 'tokensOut', 'tokensCached', 'usd'] as const

/** The fields that can be a measurement; anything else that an agent printed is as good as not said. */
export function usageOf(claimed: { readonly [Field in keyof Usage]?: unknown }): Usage {
  return pick(field => {
    const value = claimed[field]
    if (typeof value !== 'number' || !Number.isFinite(value) || value < 0) return undefined
    return field === 'usd' || Number.isSafeInteger(value) ? value : undefined
  })
}

/** The later report wins, field by field: a report that leaves something out does not take it back. */
export function laterUsage(before: Usage, after: Usage): Usage {
  return pick(field => after[field] ?? before[field])
}

export function sumUsage(one: Usage, other: Usage): Usage {
  return pick(field =>
    one[field] === undefined && other[field] === undefined ? undefined : (one[field] ?? 0) + (other[field] ?? 0),
  )
}

export function sameUsage(one: Usage, other: Usage): boolean {
  return fields.every(field => one[field] === other[field])
}

function pick(value: (field: (typeof fields)[number]) => number | undefined): Usage {
  const usage: { -readonly [Field in keyof Usage]: Usage[Field] } = {}
  for (const field of fields) {
    const each = value(field)
    if (each !== undefined) usage[field] = each
  }
  return usage
}
