// `parley trail rotate-key`: a new key for the profile. A running node uses it at once.
import { command } from '../../command.ts'
import { EXIT } from '../../exit.ts'
import { print } from '../../output.ts'
import { mayReplaceKey } from '../words.ts'

const CONSEQUENCES = [
  'The profile gets a new key, which is its identity:',
  '  - new entries are signed with it; what the old key has signed stays valid;',
  '  - the old key endorses the new one, so anyone who knows either key can verify your exports;',
  '  - peers that have pinned the old key must pin the new one;',
  '  - the old private key is deleted for good: keep a current backup of the profile.',
]

export default command({
  about: `The profile gets a new key, which is its identity. New entries are signed with it, and what the old key has signed stays valid. The old key endorses the new one, so anyone who knows either key can verify your exports. Peers that have pinned the old key must pin the new one. A running node uses it at once, and the rotation is recorded on the trail. \`parley id rotate\` does the same, names the peers, and prints the line to send them.`,
  flags: { yes: { short: 'y', summary: 'Do not ask for confirmation' } },
  examples: [
    ['parley trail rotate-key', 'explains what it means, and asks'],
    ['parley trail rotate-key --yes --json', 'from a script'],
  ],
  async run(context, { flags }) {
    const api = await context.connect()
    if (!flags.yes && !(await mayReplaceKey(context, 'It cannot be undone.', async () => CONSEQUENCES)))
      return EXIT.refused
    const rotated = await api.trail['rotate-key']({})
    print(context, rotated, () => [
      `new key  ${rotated.new.key}`,
      `         ${rotated.new.fingerprint}`,
      `old key  ${rotated.old.key}`,
      `         ${rotated.old.fingerprint}, endorses the new one`,
      rotated.recorded
        ? 'The rotation is recorded. Tell those who verify your exports, and peers that have pinned the old key: `parley id` prints the line to send them.'
        : 'The rotation is done but not recorded yet; the node records it when it starts next.',
    ])
  },
})
