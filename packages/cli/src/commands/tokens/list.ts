// `parley token list`, also plain `parley token`: the tokens of the profile, never their secrets.
import { command } from '../../command.ts'
import type { TokenView } from '../../node/views.ts'
import { drawing, print } from '../../output.ts'
import { table } from '../../render/grid.ts'
import type { Drawing } from '../../render/tasks.ts'
import { oneLine } from '../../render/text.ts'

export default command({
  about: 'A token is closed while its user is suspended, blocked or deactivated. Use is noted to the hour.',
  examples: [
    ['parley token', 'every token, the newest first'],
    ['parley token list --json', 'the same for a program'],
  ],
  async run(context) {
    const { tokens } = await context.api.tokens.list({})
    print(context, { tokens }, () =>
      tokens.length > 0
        ? tokensTable(tokens, drawing(context))
        : ['There are no tokens. `parley token create --user NAME` makes one.'],
    )
  },
})

export function tokensTable(tokens: readonly TokenView[], drawing: Drawing): readonly string[] {
  return table(
    tokens,
    [
      { header: 'TOKEN', of: ({ id }) => id },
      { header: 'USER', of: ({ user }) => oneLine(user) },
      { header: 'STATE', of: ({ state }) => ({ text: state, tone: state === 'active' ? 'good' : 'warning' }) },
      { header: 'SCOPES', flexible: true, optional: 1, of: ({ scopes }) => scopes.join(', ') },
      { header: 'EXPIRES', optional: 2, of: ({ expires }) => timeText(expires) },
      { header: 'USED', optional: 3, of: ({ used }) => (used === undefined ? 'never' : timeText(used)) },
      { header: 'NAME', flexible: true, optional: 4, of: ({ name = '' }) => oneLine(name) },
    ],
    drawing,
  )
}

/** To the minute, in UTC. */
function timeText(timestamp: string): string {
  return timestamp.slice(0, 16).replace('T', ' ')
}
