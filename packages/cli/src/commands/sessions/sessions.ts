// `parley sessions`: the sessions of programs that solve over ALX.
import { command } from '../../command.ts'
import { cliLimits } from '../../limits.ts'
import type { Output } from '../../node/client.ts'
import { drawing, print, remark } from '../../output.ts'
import { table } from '../../render/grid.ts'
import { oneLine } from '../../render/text.ts'
import { limitOf } from '../words.ts'

type SessionView = Output<'/sessions/list'>['sessions'][number]

export default command({
  about: 'A session groups the runs of one program about one matter. Without an id, all of them; with one, its story.',
  args: [{ name: 'SESSION', summary: 'The id of a session', optional: true }],
  flags: {
    user: { value: 'NAME', summary: 'Only sessions of this user' },
    status: { value: 'STATUS', summary: 'Only active, completed, failed, paused or abandoned ones' },
    cursor: { value: 'TEXT', summary: 'Continue a list' },
    limit: { value: 'N', whole: true, summary: `At most this many (default: ${cliLimits.runs})` },
  },
  examples: [
    ['parley sessions', 'the sessions of all programs, the newest change first'],
    ['parley sessions ses_k3f9qz', 'what happened in one'],
    ['parley sessions --status paused --json', 'those that wait for a person, for a program'],
  ],
  async run(context, { flags, words }) {
    const [session] = words
    if (session !== undefined) {
      const shown = await context.api.sessions.show({ session })
      print(context, shown, () => storyOf(shown))
      return
    }
    const { user, status, cursor } = flags
    const limit = limitOf(flags.limit, cliLimits.runs, cliLimits.mostBlocks)
    const page = await context.api.sessions.list({ user, status, cursor, limit })
    print(context, page, () =>
      page.sessions.length > 0
        ? table(page.sessions, COLUMNS, drawing(context))
        : ['No sessions. Programs that solve over ALX begin them: docs/guide/alx.md.'],
    )
    if (page.next !== undefined) remark(context, `There are more: --cursor ${page.next}`)
  },
})

const COLUMNS = [
  { header: 'SESSION', of: ({ sessionId }: SessionView) => sessionId },
  { header: 'USER', of: ({ user }: SessionView) => oneLine(user) },
  {
    header: 'STATUS',
    of: ({ status }: SessionView) => ({ text: status, tone: status === 'failed' ? 'bad' : 'good' }) as const,
  },
  { header: 'INTENT', flexible: true, of: ({ intent }: SessionView) => oneLine(intent) },
  { header: 'CHANGED', optional: 1, of: ({ updatedAt }: SessionView) => updatedAt.slice(0, 16).replace('T', ' ') },
]

function storyOf({ session, next_step, created, runs, timeline }: Output<'/sessions/show'>): readonly string[] {
  const { sessionId, user, intent, status, summary } = session
  return [
    `session  ${sessionId} of ${oneLine(user)}, ${status}`,
    `intent   ${oneLine(intent)}`,
    `since    ${created}; ${summary}`,
    ...(next_step === null ? [] : [`next     ${oneLine(next_step)}`]),
    ...runs.map(run => `run      ${run}`),
    '',
    ...timeline.map(event => `${new Date(event.timestamp).toISOString().slice(0, 19)}Z  ${oneLine(event.summary)}`),
  ]
}
