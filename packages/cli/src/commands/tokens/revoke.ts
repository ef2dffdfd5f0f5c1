// `parley token revoke`: ends a token.
import { command } from '../../command.ts'
import { print } from '../../output.ts'
import { oneLine } from '../../render/text.ts'

export default command({
  about: 'Its next request is refused. The revocation is on record under your name.',
  args: [{ name: 'ID', summary: 'The id of the token, as `parley token` shows it' }],
  examples: [
    ['parley token revoke k3jx2mq5abcd', 'nobody can use this token any more'],
    ['parley token revoke k3jx2mq5abcd --profile work', 'of another profile'],
  ],
  async run(context, { words }) {
    const { token } = await context.api.tokens.revoke({ id: words[0]! })
    print(context, { token }, () => [`The token ${token.id} of ${oneLine(token.user)} is revoked.`])
  },
})
