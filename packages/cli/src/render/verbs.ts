// What the verbs of an agent's turn answer, in lines: for `parley ws` and for the tools of `parley mcp`.
import type { agentVerbs } from '@parley/node/verbs'
import type { Output } from '../node/client.ts'
import { count, duration, money, plural } from './format.ts'
import { lines, oneLine } from './text.ts'

/** What an agent can call by name. */
export type Verb = keyof typeof agentVerbs
export type VerbAnswer<Name extends Verb> = Output<`/workspaces/${Name}`>

/** `called`: the name of a verb where this is read. */
type Lines<Name extends Verb> = (answer: VerbAnswer<Name>, called: (verb: Verb) => string) => readonly string[]

export const verbLines: { readonly [Name in Verb]: Lines<Name> } = {
  status: ({ task, title, agent, state, may_change: may, unread, checkpoints, workspace, run, verbs }, called) => [
    `task        ${oneLine(task)}: ${oneLine(title)}`,
    `agent       ${oneLine(agent)}, ${state}`,
    `may change  ${may === 'everything' ? may : may.length > 0 ? may.map(oneLine).join(', ') : 'nothing'}`,
    `may call    ${verbs.join(', ')}`,
    `unread      ${unread}${unread > 0 ? ` (${called('inbox')})` : ''}`,
    `kept        ${checkpoints} checkpoints`,
    `workspace   ${workspace} of ${run}`,
  ],
  inbox: ({ mail }) => (mail.length === 0 ? ['No mail.'] : mailLines(mail)),
  checkpoint: ({ checkpoint, files }) => [`Saved checkpoint ${checkpoint}: ${plural(files.length, 'file')} changed.`],
  ask: ({ mail }, called) =>
    mail.length > 0
      ? mailLines(mail)
      : [
          `No answer yet; one that comes is in ${called('inbox')}.`,
          `Go on as you think best, or call ${called('block')} if you cannot.`,
        ],
  escalate: () => ['The person who answers for this work was told. Go on.'],
  block: () => ['Blocked. End your turn now; the answer starts your next one.'],
  spend: ({ used, left }) => [
    `used  ${count(used.tokens)} tokens, ${money(used.usd)}, ${duration(used.seconds * 1000)}`,
    `left  ${[
      left.tokens === null ? 'any tokens' : `${count(left.tokens)} tokens`,
      left.usd === null ? 'any money' : money(left.usd),
      left.seconds === null ? 'any time' : duration(left.seconds * 1000),
    ].join(', ')}`,
  ],
  verdict: ({ verdict }) => [`Your verdict: ${verdict}. End your turn now.`],
}

function mailLines(mail: VerbAnswer<'inbox'>['mail']): readonly string[] {
  return mail.flatMap(({ from, type, priority, text }, index) => [
    ...(index > 0 ? [''] : []),
    `from ${oneLine(from)}: ${oneLine(type)}${priority === 'normal' ? '' : ` (${oneLine(priority)})`}`,
    ...lines(text).map(line => `  ${line}`),
  ])
}
