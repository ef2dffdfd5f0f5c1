// `parley users`: lists the people whom this node knows, and changes their state and capabilities.
import { command } from '../../command.ts'
import { Failure } from '../../failure.ts'
import type { Input } from '../../node/client.ts'
import { drawing, print } from '../../output.ts'
import { usersTable } from '../../render/runs.ts'
import { reasonOf } from '../words.ts'

type Change = Input<'/users/change'>

const ACTS = ['suspend', 'resume', 'block', 'unblock', 'deactivate', 'reactivate', 'grant', 'revoke'] as const

export default command({
  about:
    'Without arguments: everyone. A suspended, blocked or deactivated user cannot start or answer anything; their running work continues, and questions to them wait. Capabilities are granted and revoked one at a time.',
  args: [
    { name: 'ACT', summary: ACTS.join(', '), optional: true, choices: ACTS },
    { name: 'USER', summary: 'The user', optional: true },
    { name: 'CAPABILITY', summary: 'For grant and revoke', optional: true },
  ],
  flags: { reason: { value: 'TEXT', summary: 'The reason; it is recorded on the trail' } },
  examples: [
    ['parley users', 'everyone, and what is waiting for them'],
    ['parley users suspend bob --reason "On holiday"', 'bob answers nothing until he is resumed'],
    ['parley users grant bob approve_integration_any', 'bob may approve any merge'],
  ],
  async run(context, { flags, words }) {
    const [act, user, capability] = words
    if (act === undefined) {
      const list = (await context.api.users.list({})).users
      return print(context, { users: list }, () => usersTable(list, drawing(context)))
    }
    if (user === undefined) {
      throw new Failure('usage', `Which user should be changed by ${act}?`, {
        why: 'The name of a user is missing.',
        next: `\`parley users\` lists them; parley users ${act} NAME`,
      })
    }
    const changed = await context.api.users.change({
      user,
      act: act as Change['act'],
      capability: capability as Change['capability'],
      reason: reasonOf(flags.reason),
    })
    print(context, changed, () => usersTable([changed], drawing(context)))
  },
})
