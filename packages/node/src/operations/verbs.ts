// What the agent of a turn can call by name: one definition for the operations of /workspaces, for `parley ws` and for
// the tools of `parley mcp`. Agents read the descriptions. Commands load this without the node.
import { type AgentVerb, VERDICTS } from '@parley/coordinator'
import { type TSchema, Type } from '@parley/core'
import { nodeLimits } from '../limits.ts'
import { object } from '../object.ts'
import { Mail } from './mail.ts'

interface VerbSpec {
  readonly description: string
  readonly input: TSchema
  readonly output: TSchema
  /** It changes nothing. */
  readonly reads?: true
}

const words = (description: string) =>
  Type.String({ minLength: 1, maxLength: nodeLimits.reasonLength, pattern: '\\S', description })
const count = Type.Integer({ minimum: 0 })
const orNull = <T extends TSchema>(type: T) => Type.Union([type, Type.Null()])

export const agentVerbs = {
  status: {
    description: 'Your task, its state, what you may change, how much mail is unread, and what else you can call here.',
    reads: true,
    input: object({}),
    output: object({
      run: Type.String(),
      workspace: Type.String(),
      task: Type.String(),
      title: Type.String(),
      kind: Type.String(),
      agent: Type.String(),
      state: Type.String(),
      epoch: count,
      unread: count,
      checkpoints: count,
      may_change: Type.Union([Type.Array(Type.String()), Type.Literal('everything')]),
      verbs: Type.Array(Type.String()),
    }),
  },
  inbox: {
    description: 'Reads the mail that has come for you since you looked last. Each message is handed out once.',
    input: object({}),
    output: object({ mail: Mail }),
  },
  checkpoint: {
    description: 'Saves what your folder holds now. If your turn is interrupted, the next one starts from here.',
    input: object({ intent: words('What was done, in a sentence') }),
    output: object({ checkpoint: Type.String(), files: Type.Array(Type.String()) }),
  },
  ask: {
    description:
      'Asks the person who answers for this work and waits a while for the answer. Without one, go on as you think best, or call block if you cannot; an answer that comes later is in your inbox.',
    input: object({
      question: words('What you need to know, with the choices that you see'),
      wait_s: Type.Optional(
        Type.Integer({ minimum: 0, maximum: nodeLimits.askWaitS, description: 'Seconds to wait; 45 by default' }),
      ),
    }),
    output: object({ answered: Type.Boolean(), mail: Mail }),
  },
  escalate: {
    description:
      'Tells the person who answers for this work about something beyond your task: a risk, a contradiction, a decision that is not yours. You go on working.',
    input: object({ reason: words('What the person should know or decide') }),
    output: object({ escalated: Type.Boolean() }),
  },
  block: {
    description:
      'Says that you cannot go on without an answer. End your turn after it; the answer starts your next one, in the same folder.',
    input: object({ reason: words('What you need to know') }),
    output: object({ blocked: Type.Boolean() }),
  },
  spend: {
    description: 'What this turn has used, and what is left of the budget and the time of your task.',
    reads: true,
    input: object({}),
    output: object({
      used: object({ tokens: count, usd: Type.Number(), seconds: count }),
      left: object({ tokens: orNull(Type.Number()), usd: orNull(Type.Number()), seconds: orNull(count) }),
    }),
  },
  verdict: {
    description:
      'Gives your verdict on the work that you review: accept it, have it revised, or reject it as unusable. The last call counts. End your turn after it.',
    input: object({
      verdict: Type.Enum([...VERDICTS]),
      findings: Type.Optional(
        Type.Array(words('What is wrong, where, and what would be right'), {
          maxItems: nodeLimits.findings,
          description: 'Needed unless you accept; the author gets them as they are',
        }),
      ),
    }),
    output: object({ verdict: Type.Enum([...VERDICTS]) }),
  },
} as const satisfies Readonly<Record<AgentVerb, VerbSpec>>
