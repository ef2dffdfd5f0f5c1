// /gates, /escalations: everything that waits for a person, and their answers.
import { GateViewSchema } from '@parley/coordinator'
import { mapSchema, refuse, Type } from '@parley/core'
import { nodeLimits } from '../limits.ts'
import { object } from '../object.ts'
import type { OperationDeps } from './deps.ts'
import {
  ACT,
  answered,
  answerOf,
  caller,
  FOUND,
  mutation,
  query,
  Reason,
  RunText,
  streamed,
  subscription,
  text,
  told,
} from './spec.ts'

/** Never on the trail: it goes no further than this file. */
export const Passphrase = Type.String({
  maxLength: nodeLimits.passphraseMost,
  description: 'Where `gates.confirm` is set',
})
export const PASSPHRASE_REFUSALS = ['passphrase_required', 'passphrase_wrong', 'passphrase_locked'] as const

const Waiting = text(160, 'The id of what waits or of its run, a beginning or end of it if that is unique, or `last`')
const List = object({ gates: Type.Array(GateViewSchema) })
const OfRun = object({ run: Type.Optional(RunText) })
const ANSWER_REFUSALS = [...PASSPHRASE_REFUSALS, ...ACT]

export function gateService({ coordinator, passphrase: confirmed }: OperationDeps) {
  const list = async (run: string | undefined, kind?: 'question') => {
    const found = run === undefined ? undefined : await answerOf(coordinator.runs.find(run))
    const gates = await told(coordinator.gates.list(found))
    return { gates: gates.filter(gate => kind === undefined || gate.kind === kind) }
  }
  return {
    '/gates/list': query({
      description: 'Everything that waits for a person, the oldest first; of one run, if one is named.',
      input: OfRun,
      output: List,
      refuses: [...FOUND, 'trail_unavailable', 'trail_damaged'],
      handle: ({ run }) => list(run),
    }),
    '/gates/find': query({
      description:
        'What is meant by a name: one gate or question, or the tasks of a plan that wait. Without one, the only thing that waits.',
      input: object({
        name: Type.Optional(Waiting),
        kind: GateViewSchema.properties.kind,
        all: Type.Optional(Type.Boolean({ description: 'Everything of this kind that waits in the run, or anywhere' })),
      }),
      output: List,
      refuses: [...FOUND, 'invalid_state', 'trail_unavailable', 'trail_damaged'],
      handle: async ({ name, kind, all }) => ({ gates: await answerOf(coordinator.gates.find(name, kind, all)) }),
    }),
    '/gates/watch': subscription({
      description: 'Everything that waits for a person, as it is and again after each change.',
      input: object({}),
      output: List,
      refuses: ['unavailable', 'trail_unavailable', 'trail_damaged'],
      async *handle(_input, { signal }) {
        for await (const gates of streamed(coordinator.gates.watch(signal))) yield { gates }
      },
    }),
    '/gates/respond': mutation({
      description:
        'Answers a gate. A run stands for the tasks of its plan that wait; each of them is answered by itself.',
      input: object({
        gate: Waiting,
        decision: Type.Enum(['approve', 'reject', 'modify']),
        changes: Type.Optional(
          Type.Unsafe<Record<string, unknown>>({
            ...mapSchema(Type.Unknown()),
            maxProperties: 16,
            description: 'For `modify`: the fields that change',
          }),
        ),
        reason: Type.Optional(Reason),
        again: Type.Optional(
          Type.Boolean({
            description:
              'For `reject` of finished work at its merge: the task is done once more, with the reason in mind',
          }),
        ),
        passphrase: Type.Optional(Passphrase),
      }),
      output: object({ run: Type.String(), gates: Type.Array(Type.String()) }),
      refuses: ANSWER_REFUSALS,
      handle: async ({ gate, decision, changes, reason, again, passphrase }, { identity }) => {
        answered(await confirmed.check(passphrase))
        const principal = caller(identity)
        if (decision !== 'modify') {
          if (changes) answered(refuse('invalid_argument', 'Only `modify` changes something.'))
          return await answerOf(coordinator.gates.respond(gate, { decision, reason, again, principal }))
        }
        if (!changes) return answered(refuse('invalid_argument', 'Say what is to change.'))
        return await answerOf(coordinator.gates.respond(gate, { decision, changes, reason, principal }))
      },
    }),
    '/gates/passphrase': mutation({
      description:
        'Sets the passphrase that answers need from now on, or takes it away where none is given. One that is set is needed for that.',
      input: object({ passphrase: Type.Optional(Passphrase), present: Type.Optional(Passphrase) }),
      output: object({ required: Type.Boolean() }),
      refuses: [...PASSPHRASE_REFUSALS, 'invalid_argument', 'invalid_config', 'profile_unusable'],
      handle: async ({ passphrase, present }) => {
        answered(await confirmed.change(passphrase, present))
        return { required: confirmed.required }
      },
    }),
    '/escalations/list': query({
      description: 'Questions of agents that wait for a person.',
      input: OfRun,
      output: List,
      refuses: [...FOUND, 'trail_unavailable', 'trail_damaged'],
      handle: ({ run }) => list(run, 'question'),
    }),
    '/escalations/respond': mutation({
      description: 'Answers a question: with words, by ending the work, or by leaving it to the coordinator.',
      input: object({
        question: Waiting,
        answer: Type.Enum(['envelope', 'abort', 'delegate']),
        text: Type.Optional(text(nodeLimits.replyLength)),
        passphrase: Type.Optional(Passphrase),
      }),
      output: object({ run: Type.String() }),
      refuses: ANSWER_REFUSALS,
      handle: async ({ question, answer, text, passphrase }, { identity }) => {
        answered(await confirmed.check(passphrase))
        const principal = caller(identity)
        if (answer !== 'envelope') return await answerOf(coordinator.gates.reply(question, { answer, principal }))
        if (text === undefined) return answered(refuse('invalid_argument', 'A reply needs a text.'))
        return await answerOf(coordinator.gates.reply(question, { answer, text, principal }))
      },
    }),
  }
}
