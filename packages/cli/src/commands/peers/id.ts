// `parley id`: the key of this profile, and the line that lets others pin it. `parley id rotate` replaces the key.
import { type Context, command } from '../../command.ts'
import { EXIT, type ExitCode } from '../../exit.ts'
import { print, remark } from '../../output.ts'
import { duration } from '../../render/format.ts'
import { identityLines, pinningLine } from '../../render/peers.ts'
import { oneLine } from '../../render/text.ts'
import { mayReplaceKey } from '../words.ts'

export default command({
  about:
    'Send the line any way you like: it is not a secret, and it proves nothing by itself. The digits after `aloud` prove it: read them to each other, for instance over the telephone.\n\n`parley id rotate` makes a new key. Peers that pinned the old one get silence, and you get silence from them, until they pin the new one. What the old key signed stays valid, and it endorses the new one. This cannot be undone.',
  args: [
    {
      name: 'ACT',
      summary: 'rotate: replace the key with a new one',
      optional: true,
      choices: ['rotate'],
    },
  ],
  flags: { yes: { short: 'y', summary: 'With rotate: do not ask for confirmation' } },
  examples: [
    ['parley id', 'the key, the digits to compare aloud, and the line to send'],
    ['parley id --quiet', 'only the line to send'],
    ['parley id rotate', 'says who is cut off, and asks'],
  ],
  async run(context, { flags, words }) {
    return words[0] === 'rotate' ? rotate(context, flags.yes) : show(context)
  },
})

async function show(context: Context): Promise<undefined> {
  const [identity, { idle_timeout_ms }] = await Promise.all([
    context.api.link.identity({}),
    context.api.node.status({}),
  ])
  const line = pinningLine(identity.invitation)
  print(context, { ...identity, paste: line }, () =>
    context.global.quiet
      ? [line]
      : [...identityLines(identity), '', 'Anyone who pastes this line pins you. Compare the digits above aloud:', line],
  )
  if (identity.listening.length === 0)
    remark(context, 'Nobody can reach this profile: `service.alp` is false in its config.yaml.')
  else if (!identity.listening.some(({ carrier }) => carrier === 'tcp'))
    remark(
      context,
      identity.invitation.includes('@')
        ? 'No port is open for other machines yet: the first `parley peers add` opens it. To be called by strangers before that, set `alp.tcp_port` in config.yaml.'
        : 'It can be reached from this machine only. For others, set `network.host` and `alp.tcp_port` in its config.yaml.',
    )
  if (identity.listening.length > 0 && idle_timeout_ms > 0)
    remark(
      context,
      `This node was started on demand: it stops after ${duration(idle_timeout_ms)} without use, and then nobody can reach you. To stay reachable: parley down, then parley up --detach`,
    )
}

async function rotate(context: Context, agreedAlready: boolean): Promise<ExitCode | undefined> {
  const why = 'It cuts off everyone who has pinned the old key, and cannot be undone.'
  if (!agreedAlready && !(await mayReplaceKey(context, why, () => consequences(context)))) return EXIT.refused
  const rotated = await context.api.link['rotate-key']({})
  const line = pinningLine(rotated.invitation)
  print(context, { ...rotated, paste: line }, () =>
    context.global.quiet
      ? [line]
      : [
          `new key  ${rotated.new.pubkey}`,
          `         ${rotated.new.fingerprint}`,
          `aloud    ${rotated.new.spoken}`,
          `old key  ${rotated.old.pubkey}`,
          `         ${rotated.old.fingerprint}, endorses the new one`,
          '',
          rotated.peers.length > 0
            ? `Send this line to ${rotated.peers.map(oneLine).join(', ')}. They remove the old key, paste the line, and compare the digits aloud:`
            : 'No peer is pinned here. Anyone who has pinned you pastes this line and compares the digits aloud:',
          line,
        ],
  )
  if (!rotated.recorded)
    remark(context, 'The rotation is done but not recorded yet; the node records it when it starts next.')
}

async function consequences({ api }: Context): Promise<readonly string[]> {
  const { peers } = await api.peers.list({})
  const whom =
    peers.length > 0
      ? `everyone who has pinned you gets silence until they pin the new key. Tell the peers that you have pinned: ${peers.map(peer => oneLine(peer.id)).join(', ')};`
      : 'everyone who has pinned you gets silence until they pin the new key;'
  return [
    'The profile gets a new key, which is its identity:',
    `  - ${whom}`,
    '  - open connections end, including answers in progress;',
    '  - what the old key has signed stays valid, and it endorses the new one: anyone who knows either key can verify exports;',
    '  - the old private key is deleted. This cannot be undone.',
  ]
}
