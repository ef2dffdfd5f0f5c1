// `parley id`: who this profile is to others, and the one line that lets them pin it. `parley id rotate`: another key.
import { type Context, command } from '../command.ts'
import { EXIT, type ExitCode } from '../exit.ts'
import { Failure } from '../failure.ts'
import type { NodeApi } from '../node-api.ts'
import { print, remark } from '../output.ts'
import { duration } from '../render/format.ts'
import { identityLines, pinningLine } from '../render/peers.ts'
import { oneLine } from '../render/text.ts'

export const id = command({
  name: 'id',
  summary: 'Show the key of this profile and the line that others paste to pin it, or replace the key',
  about:
    'Send the line by any way you like: it is no secret, and proves nothing by itself. What proves it are the digits behind `aloud`: read them to each other, for instance over the telephone.\n\n`parley id rotate` makes a new key. Everybody who has pinned the old one gets silence from then on, and gives silence, until they pin the new one. What the old key has signed stays valid, and it endorses the new one. It cannot be taken back.',
  args: [
    {
      name: 'ACT',
      summary: 'rotate: put a new key in place of the old one',
      optional: true,
      choices: ['rotate'],
    },
  ],
  flags: { yes: { type: 'boolean', short: 'y', summary: 'With rotate: do not ask' } },
  examples: [
    ['parley id', 'the key, the digits to compare aloud, and the line to send'],
    ['parley id --quiet', 'only the line to send'],
    ['parley id rotate', 'says whom it cuts off, and asks'],
  ],
  async run(context, { flags, words }) {
    const api = await context.connect()
    return words[0] === 'rotate' ? rotate(context, api, flags.yes) : show(context, api)
  },
})

async function show(context: Context, api: NodeApi): Promise<ExitCode> {
  const [identity, { idle_timeout_ms }] = await Promise.all([api.linkIdentity(), api.status()])
  const line = pinningLine(identity.invitation)
  print(context, { ...identity, paste: line }, () =>
    context.global.quiet
      ? [line]
      : [
          ...identityLines(identity),
          '',
          'Whoever pastes this line pins you. Compare the digits above aloud:',
          line,
        ],
  )
  if (identity.listening.length === 0)
    remark(context, 'Nobody can reach this profile: `service.alp` is false in its config.yaml.')
  else if (!identity.listening.some(({ carrier }) => carrier === 'tcp'))
    remark(
      context,
      'It is reached from this machine only. For others: `network.host` and `alp.tcp_port` in its config.yaml.',
    )
  if (identity.listening.length > 0 && idle_timeout_ms > 0)
    remark(
      context,
      `This node was started on demand: when nobody has needed it for ${duration(idle_timeout_ms)} it stops, and nobody reaches you. To stay reachable: parley down, then parley up --detach`,
    )
  return EXIT.done
}

async function rotate(context: Context, api: NodeApi, agreedAlready: boolean): Promise<ExitCode> {
  if (!agreedAlready && !(await agreed(context, api))) return EXIT.refused
  const rotated = await api.rotateIdentity()
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
            ? `Send this line to ${rotated.peers.map(oneLine).join(', ')}. They remove the old key, paste it, and compare the digits aloud:`
            : 'Nobody is pinned here. Whoever has pinned you pastes this line, and compares the digits aloud:',
          line,
        ],
  )
  if (!rotated.recorded)
    remark(
      context,
      'The rotation is done, but not on record yet; the next start of the node makes up for it.',
    )
  return EXIT.done
}

async function agreed({ terminal }: Context, api: NodeApi): Promise<boolean> {
  if (!terminal.interactive) {
    throw new Failure('not_confirmed', 'Nobody is there to say that the key shall be replaced.', {
      why: 'It cuts off everybody who has pinned the old one, and cannot be taken back.',
      next: 'Say so with --yes.',
    })
  }
  const { peers } = await api.peers()
  const whom =
    peers.length > 0
      ? `everybody who has pinned you gets silence until they pin the new key. You have pinned, so tell: ${peers.map(peer => oneLine(peer.id)).join(', ')};`
      : 'everybody who has pinned you gets silence until they pin the new key;'
  const consequences = [
    'The profile gets a new key, which is its identity. So:',
    `  - ${whom}`,
    '  - connections that are open end, also answers that are under way;',
    '  - what the old key has signed stays valid, and it endorses the new one: exports can be verified by whoever knows either;',
    '  - the old private key is deleted. This cannot be taken back.',
  ]
  terminal.out(`${consequences.join('\n')}\n`)
  const answer = await terminal.ask('Replace the key? [y/N] ')
  return /^y(es)?$/i.test(answer?.trim() ?? '')
}
