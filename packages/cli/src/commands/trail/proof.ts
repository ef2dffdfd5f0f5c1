// `parley trail proof`: the proof of one entry, checked again.
import { command } from '../../command.ts'
import { EXIT } from '../../exit.ts'
import type { ProofView } from '../../node/views.ts'
import { drawing, print } from '../../output.ts'
import { oneLine, wrap } from '../../render/text.ts'

export default command({
  about: 'Each step is checked again from what is stored. The exit code is 1 if one fails or is missing.',
  args: [
    { name: 'RUN', summary: 'A run: its id, a part of it as lists show it, or last' },
    { name: 'ENTRY', summary: 'The number of an entry, as `parley trail query` shows it, or its id' },
  ],
  examples: [
    ['parley trail proof last 17', 'the entry with this number'],
    ['parley trail proof run_k3f9qz 17 --json', 'for a program'],
  ],
  async run(context, { words }) {
    const [run = '', entry = ''] = words
    const proof = await context.api.trail.proof({ run, entry: /^\d+$/.test(entry) ? Number(entry) : entry })
    print(context, proof, () => proofLines(proof, drawing(context).width))
    return proof.complete ? EXIT.done : EXIT.failed
  },
})

function proofLines(proof: ProofView, width: number): readonly string[] {
  const { identity, message, link, signature } = proof
  const who = identity.name === null ? '' : ` (${oneLine(identity.name)})`
  const steps = [
    ['who', identity.status, identity.detail],
    ['what', message.status, message.detail],
    ['place', link.status, link.detail],
    ['signature', signature.status, signature.detail],
  ] as const
  return [
    `${proof.run} ${proof.seq} ${proof.event_type}, by ${oneLine(proof.actor)}${who}, ${proof.party}`,
    ...steps.flatMap(([name, status, detail]) =>
      wrap(`${name.padEnd(10)}${status.padEnd(9)} ${oneLine(detail)}`, width),
    ),
    `hash      ${link.hash}`,
    ...(signature.signer === null ? [] : [`signer    ${signature.signer}`]),
    proof.complete ? 'Every step is verified.' : 'The proof of this entry is incomplete.',
  ]
}
