// `parley trail rotate-key`: a new key for the profile. A running node goes on with it at once.
import { type Context, command } from '../command.ts'
import { EXIT } from '../exit.ts'
import { Failure } from '../failure.ts'
import { print } from '../output.ts'

const CONSEQUENCES = [
  'The profile gets a new key. It is the identity of the profile, so:',
  '  - entries from now on are signed with it; what the old key has signed stays valid;',
  '  - the old key endorses the new one, so whoever knows either can verify your exports;',
  '  - peers that have pinned the old key must pin the new one;',
  '  - the old private key is deleted, and cannot come back: keep a backup of the profile up to date.',
]

export const trailRotateKey = command({
  name: 'trail rotate-key',
  summary: 'Put a new key in place of the one that signs the record',
  about: `${CONSEQUENCES[0]} entries from now on are signed with it, and what the old key has signed stays valid. The old key endorses the new one, so that whoever knows either can verify your exports. Peers that have pinned the old key must pin the new one. A running node goes on with it at once; the rotation is on record in the trail. \`parley id rotate\` does the same, names the peers, and prints the line to send them.`,
  args: [],
  flags: { yes: { type: 'boolean', short: 'y', summary: 'Do not ask' } },
  examples: [
    ['parley trail rotate-key', 'says what that means, and asks'],
    ['parley trail rotate-key --yes --json', 'from a script'],
  ],
  async run(context, { flags }) {
    const api = await context.connect()
    if (!flags.yes && !(await agreed(context))) return EXIT.refused
    const rotated = await api.rotateKey()
    print(context, rotated, () => [
      `new key  ${rotated.new.key}`,
      `         ${rotated.new.fingerprint}`,
      `old key  ${rotated.old.key}`,
      `         ${rotated.old.fingerprint}, endorses the new one`,
      rotated.recorded
        ? 'The rotation is on record. Tell whoever verifies your exports, and peers that have pinned the old key: `parley id` prints the line to send them.'
        : 'The rotation is done, but not on record yet; the next start of the node makes up for it.',
    ])
    return EXIT.done
  },
})

async function agreed({ terminal }: Context): Promise<boolean> {
  if (!terminal.interactive) {
    throw new Failure('not_confirmed', 'Nobody is there to say that the key shall be replaced.', {
      why: 'It cannot be taken back.',
      next: 'Say so with --yes.',
    })
  }
  terminal.out(`${CONSEQUENCES.join('\n')}\n`)
  const answer = await terminal.ask('Replace the key? [y/N] ')
  return /^y(es)?$/i.test(answer?.trim() ?? '')
}
