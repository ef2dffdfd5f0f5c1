// Blocks whose hashes the sheet states (ALX-KB-17), as clients present them, and makers of others.
import type { KbEnvelope, KbRegisterInput } from '@alx/protocol'

export const HASHES = {
  K1: '0x25cde9b360a9ac2c66038ab2bf6a311b2fe6da4d277d004b94f5ded4d371b0bc',
  K3: '0x9cccde9b7a6f1dee5cbbdfd2b04cc8c0fd19cf9aa8d49b2189ba233384ee4180',
  K4: '0x9831e285041193e53e06a539344b864b03d49bf88c9674126626624d153e8be2',
} as const

export const K1: KbEnvelope = {
  type: 'practice',
  domain: 'ops.backup',
  sources: [],
  tier: 'open',
  payload: { type: 'practice', rationale: 'Test restores monthly.', contexts: ['database'], failureModes: [] },
  artifactHash: '0xbd1922d9f731d2041b419d4cf1f993b5ebc40399965178d348a5c9363f20722e',
}

export const K3: KbEnvelope = {
  type: 'synthesis',
  domain: 'ops.backup',
  sources: [HASHES.K4, HASHES.K1],
  tier: 'verified',
  payload: { type: 'synthesis', question: 'How often?', answer: 'Monthly.', citations: { [HASHES.K1]: 'monthly' } },
  artifactHash: '0x960019e324f2ff8f0c55f29e35f78e0a0939bcd8eaf62598af9befda4a6cc3f6',
  derivation: {
    type: 'compose',
    inputs: [{ kbId: HASHES.K1, selectors: ['payload.rationale'] }],
    recipe: { strategy: 'merge' },
  },
}

export const K4: KbEnvelope = {
  type: 'practice',
  domain: 'ops.numbers',
  sources: [],
  payload: {
    type: 'practice',
    rationale: 'n',
    contexts: [1.0, -0, 1e21, 1e-7, 0.1, 100, 123456789012],
    failureModes: [true, false],
  },
}

export function factual(text: string, more: Partial<KbEnvelope> = {}): KbEnvelope {
  return { type: 'factual', domain: 'ops', sources: [], payload: { type: 'factual', text }, ...more }
}

/** Anything that a client may send: what is wrong with it is found by the checks. */
export function presenting(envelope: object, more: Partial<KbRegisterInput> = {}): KbRegisterInput {
  return { envelope: envelope as KbEnvelope, ...more }
}
