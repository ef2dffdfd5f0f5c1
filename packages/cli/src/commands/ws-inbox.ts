// `parley ws inbox`: the mail that has come for an agent at work.
import { command } from '../command.ts'
import { EXIT } from '../exit.ts'
import { print } from '../output.ts'
import { lines, oneLine } from '../render/text.ts'

export const wsInbox = command({
  name: 'ws inbox',
  summary: 'Take the mail that has come; each is handed out once',
  args: [],
  flags: {},
  examples: [
    ['parley ws inbox', 'read what has come since'],
    ['parley ws inbox --json', 'the same for a program'],
  ],
  async run(context) {
    const api = await context.connect()
    const mail = await api.workspaceInbox()
    print(context, { mail }, () =>
      mail.length === 0
        ? ['No mail.']
        : mail.flatMap((each, index) => [
            ...(index > 0 ? [''] : []),
            `from ${oneLine(each.from)}: ${oneLine(each.type)}${each.priority === 'normal' ? '' : ` (${oneLine(each.priority)})`}`,
            ...lines(each.text).map(line => `  ${line}`),
          ]),
    )
    return EXIT.done
  },
})
