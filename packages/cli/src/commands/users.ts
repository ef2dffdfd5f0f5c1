// `parley users`: the people whom this node knows, what they may do, and whether they may do it now.
import { command } from '../command.ts'
import { EXIT } from '../exit.ts'
import { Failure } from '../failure.ts'
import type { UserChange } from '../node-api.ts'
import { drawing, print } from '../output.ts'
import { usersTable } from '../render/runs.ts'
import { reasonOf } from './words.ts'

const ACTS = ['suspend', 'resume', 'block', 'unblock', 'deactivate', 'reactivate', 'grant', 'revoke'] as const

export const users = command({
  name: 'users',
  summary: 'List the people that answer for runs, or change what they may do',
  about:
    'Without words: everybody. A suspended, blocked or deactivated user starts nothing and answers nothing; their running work goes on, and questions to them wait. Capabilities are granted and revoked one by one.',
  args: [
    { name: 'ACT', summary: ACTS.join(', '), optional: true, choices: ACTS },
    { name: 'USER', summary: 'Whom', optional: true },
    { name: 'CAPABILITY', summary: 'For grant and revoke', optional: true },
  ],
  flags: { reason: { type: 'text', value: 'TEXT', summary: 'Why; it is kept on the trail' } },
  examples: [
    ['parley users', 'everybody, and what waits for them'],
    ['parley users suspend bob --reason "On holiday"', 'bob answers nothing until he is resumed'],
    ['parley users grant bob approve_integration_any', 'bob may let any work be merged'],
  ],
  async run(context, { flags, words }) {
    const [act, user, capability] = words
    const api = await context.connect()
    if (act === undefined) {
      const list = await api.users()
      print(context, { users: list }, () => usersTable(list, drawing(context)))
      return EXIT.done
    }
    if (user === undefined) {
      throw new Failure('usage', `Whom to ${act}?`, {
        why: 'The name of a user is missing.',
        next: `\`parley users\` lists them; parley users ${act} NAME`,
      })
    }
    const reason = reasonOf(flags.reason)
    const changed = await api.changeUser({
      user,
      act: act as UserChange['act'],
      ...(capability !== undefined && { capability: capability as NonNullable<UserChange['capability']> }),
      ...(reason !== undefined && { reason }),
    })
    print(context, changed, () => usersTable([changed], drawing(context)))
    return EXIT.done
  },
})
