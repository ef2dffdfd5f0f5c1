// The highway's configuration (W-HWY-01, -14, -15): four capabilities, each switchable; three presets; overrides per gate.
import { type EscalationFallback, GATE_TYPES, type GateFallback, type GateType } from '@parley/trail/events'

/** How one gate stands: off, or on with its timeout (null: none) and fallback. */
export interface GateSetting {
  readonly on: boolean
  readonly timeout: number | null
  readonly fallback: GateFallback
}

/** A configuration with everything said: what presets and drafts expand into. */
export interface Highway {
  /** False: this run has no highway at all, as below level 2; every draft is approved at once. */
  readonly enabled: boolean
  readonly visibility: boolean
  readonly gates: { readonly [Type in GateType]: GateSetting }
  readonly injection: boolean
  readonly escalation: {
    readonly enabled: boolean
    readonly timeout: number | null
    readonly fallback: EscalationFallback
  }
}

const OFF: GateSetting = { on: false, timeout: null, fallback: 'reject' }

export const HIGHWAY_OFF: Highway = {
  enabled: false,
  visibility: true,
  gates: Object.fromEntries(GATE_TYPES.map(type => [type, OFF])) as Highway['gates'],
  injection: true,
  escalation: { enabled: false, timeout: null, fallback: 'reject' },
}
