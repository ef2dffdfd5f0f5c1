// `parley ws inbox`: new mail for a working agent.
import { command } from '../../command.ts'
import { print } from '../../output.ts'
import { lines, oneLine } from '../../render/text.ts'

export default command({
  examples: [
    ['parley ws inbox', 'read new messages'],
    ['parley ws inbox --json', 'the same for a program'],
  ],
  async run(context) {
    const mail = (await context.api.workspaces.inbox({})).mail
    print(context, { mail }, () =>
      mail.length === 0
        ? ['No mail.']
        : mail.flatMap((each, index) => [
            ...(index > 0 ? [''] : []),
            `from ${oneLine(each.from)}: ${oneLine(each.type)}${each.priority === 'normal' ? '' : ` (${oneLine(each.priority)})`}`,
            ...lines(each.text).map(line => `  ${line}`),
          ]),
    )
  },
})
