// The Knowledge Blocks whose hashes the sheet states (ALX-KB-17).
const K1_PAYLOAD = { type: 'practice', rationale: 'Test restores monthly.', contexts: ['database'], failureModes: [] }

export const HASHES = {
  K1: '0x25cde9b360a9ac2c66038ab2bf6a311b2fe6da4d277d004b94f5ded4d371b0bc',
  K3: '0x9cccde9b7a6f1dee5cbbdfd2b04cc8c0fd19cf9aa8d49b2189ba233384ee4180',
  K4: '0x9831e285041193e53e06a539344b864b03d49bf88c9674126626624d153e8be2',
  K5: '0x5af04bd7144ca052b5980f2dc7f5648b08a6765e2dda64f4211de0de1bc361b6',
  K5_DECOMPOSED: '0xa6eb1045d58302bc3566c7f8e4dd94b63d754da5a49c5690125557d2e62a3884',
  K6: '0x3caf95dde91c84e42bd017775226a9443959eb7cb973050e4f52fb040d202b9c',
  K1_PAYLOAD: '0xbd1922d9f731d2041b419d4cf1f993b5ebc40399965178d348a5c9363f20722e',
  K3_PAYLOAD: '0x960019e324f2ff8f0c55f29e35f78e0a0939bcd8eaf62598af9befda4a6cc3f6',
} as const

export const K1 = {
  type: 'practice',
  domain: 'ops.backup',
  sources: [] as string[],
  tier: 'open',
  payload: K1_PAYLOAD,
  artifactHash: HASHES.K1_PAYLOAD,
}

export const K3 = {
  type: 'synthesis',
  domain: 'ops.backup',
  sources: [HASHES.K4, HASHES.K1] as string[],
  tier: 'verified',
  payload: {
    type: 'synthesis',
    question: 'How often?',
    answer: 'Monthly.',
    citations: { [HASHES.K1]: 'monthly' },
  },
  artifactHash: HASHES.K3_PAYLOAD,
  derivation: {
    type: 'compose',
    inputs: [{ kbId: HASHES.K1 as string, selectors: ['payload.rationale'] }],
    recipe: { strategy: 'merge' },
  },
}

export const K4 = {
  type: 'practice',
  domain: 'ops.numbers',
  payload: {
    type: 'practice',
    rationale: 'n',
    contexts: [1.0, -0, 1e21, 1e-7, 0.1, 100, 123456789012],
    failureModes: [true, false],
  },
}

const unicode = (rationale: string) => ({
  type: 'practice',
  domain: 'ops.unicode',
  sources: [],
  payload: { type: 'practice', rationale, contexts: [], failureModes: [] },
})
export const K5 = unicode('caf\u00e9 \u0007 "q" / \\ \u2028 \u{1f600}')
export const K5_DECOMPOSED = unicode('cafe\u0301 \u0007 "q" / \\ \u2028 \u{1f600}')

export const K6 = {
  type: 'feature',
  domain: 'ops.keys',
  sources: [],
  payload: {
    type: 'feature',
    interfaceContract: { '\ufb33': 1, '\u{1f600}': 2, a: 3, B: 4 },
    testScaffold: {},
  },
}
