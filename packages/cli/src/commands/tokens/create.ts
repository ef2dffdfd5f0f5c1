// `parley token create`: a token for a program, shown once.
import { command } from '../../command.ts'
import { Failure } from '../../failure.ts'
import type { Input } from '../../node/client.ts'
import { print, remark } from '../../output.ts'
import { oneLine } from '../../render/text.ts'

type Scope = NonNullable<Input<'/tokens/create'>['scopes']>[number]

const SCOPES: readonly Scope[] = ['solve', 'read', 'kb', 'settle', 'approve', 'operations']

export default command({
  about:
    'The token acts as the user and may do no more than its scopes say. Somebody who is not known yet becomes a user with the least rights (`parley users`). Only a hash of the token is kept: what is printed here cannot be shown again.',
  flags: {
    user: { value: 'NAME', summary: 'As whom its holder acts; required' },
    scope: {
      value: 'SCOPES',
      summary: `What it may do, with commas between: ${SCOPES.join(', ')} (default: solve,read,kb)`,
    },
    expires: { value: 'TIME', summary: 'How long it lives, at most 366d (default: 30d)' },
    name: { value: 'TEXT', summary: 'What it is for; shown in lists' },
  },
  examples: [
    ['parley token create --user ci --name "nightly build"', 'may solve, read and use knowledge for 30 days'],
    ['parley token create --user grafana --scope read --expires 366d', 'may read metrics for a year'],
    ['parley token create --user ci -q > token.txt', 'the token alone, for a file that you protect'],
  ],
  async run(context, { flags }) {
    const { user, scope, expires, name } = flags
    if (user === undefined) {
      throw new Failure('usage', 'Whose token is it to be?', {
        why: 'A token acts as a user.',
        next: 'parley token create --user NAME; `parley users` lists who is known.',
      })
    }
    const made = await context.api.tokens.create({ user, scopes: scopesOf(scope), expires, name })
    print(context, made, () => [made.secret])
    const { id, scopes, expires: until } = made.token
    remark(
      context,
      `Token ${id} of ${oneLine(made.token.user)}: ${scopes.join(', ')}, until ${until.slice(0, 16).replace('T', ' ')} UTC. It is not shown again; \`parley token revoke ${id}\` ends it.`,
    )
  },
})

function scopesOf(text: string | undefined): readonly Scope[] | undefined {
  if (text === undefined) return undefined
  return text.split(',').map(word => {
    const known = SCOPES.find(each => each === word.trim())
    if (known) return known
    throw new Failure('usage', `There is no scope '${word}'.`, { next: `--scope takes ${SCOPES.join(', ')}.` })
  })
}
