// `parley ws status`: the task of a working agent, and what it may change.
import { command } from '../../command.ts'
import { print } from '../../output.ts'
import { oneLine } from '../../render/text.ts'

export default command({
  examples: [
    ['parley ws status', 'for an agent at work'],
    ['parley ws status --json', 'the same for a program'],
  ],
  async run(context) {
    const status = await context.api.workspaces.status({})
    const may = status.may_change
    print(context, status, () => [
      `task        ${oneLine(status.task)}: ${oneLine(status.title)}`,
      `agent       ${oneLine(status.agent)}, ${status.state}`,
      `may change  ${may === 'everything' ? may : may.length > 0 ? may.map(oneLine).join(', ') : 'nothing'}`,
      `unread      ${status.unread}${status.unread > 0 ? ' (parley ws inbox)' : ''}`,
      `kept        ${status.checkpoints} checkpoints`,
      `workspace   ${status.workspace} of ${status.run}`,
    ])
  },
})
