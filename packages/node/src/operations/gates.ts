// /gates, /escalations: everything that waits for a person, and their answers.
import { operation } from '@parley/call'
import { type Coordination, GateViewSchema } from '@parley/coordinator'
import { mapSchema, refuse, Type } from '@parley/core'
import { nodeLimits } from '../limits.ts'
import type { AnswerPassphrase } from '../profile/passphrase.ts'
import { caller } from './caller.ts'
import { answered, closed, forOwner, Reason, RunText, refusals, streamed, told } from './spec.ts'

export interface GateDeps {
  readonly coordinator: Coordination
  readonly passphrase: Pick<AnswerPassphrase, 'check' | 'change' | 'required'>
}

/** Never on the trail: it goes no further than this file. */
export const Passphrase = Type.String({
  maxLength: nodeLimits.passphraseMost,
  description: 'Where `gates.confirm` is set',
})
export const PASSPHRASE_REFUSALS = ['passphrase_required', 'passphrase_wrong', 'passphrase_locked'] as const

const Waiting = Type.String({
  minLength: 1,
  maxLength: 160,
  description: 'The id of what waits or of its run, the beginning of it if that is unique, or `last`',
})
const List = Type.Object({ gates: Type.Array(GateViewSchema) }, closed)
const OfRun = Type.Object({ run: Type.Optional(RunText) }, closed)
const ANSWER_REFUSALS = refusals(
  ...PASSPHRASE_REFUSALS,
  'not_found',
  'ambiguous',
  'invalid_state',
  'invalid_argument',
  'permission_denied',
  'trail_unavailable',
  'trail_damaged',
)

export function gateService({ coordinator, passphrase: confirmed }: GateDeps) {
  const list = async (run: string | undefined, kind?: 'question') => {
    const found = run === undefined ? undefined : answered(await told(coordinator.runs.find(run)))
    const gates = await told(coordinator.gates.list(found))
    return { gates: gates.filter(gate => kind === undefined || gate.kind === kind) }
  }
  return {
    '/gates/list': operation(
      {
        name: '/gates/list',
        opType: 'query',
        description: 'Everything that waits for a person, the oldest first; of one run, if one is named.',
        inputSchema: OfRun,
        outputSchema: List,
        accessControl: forOwner,
        errorSchemas: refusals('not_found', 'ambiguous', 'trail_unavailable', 'trail_damaged'),
      },
      ({ run }) => list(run),
    ),
    '/gates/find': operation(
      {
        name: '/gates/find',
        opType: 'query',
        description:
          'What is meant by a name: one gate or question, or the tasks of a plan that wait. Without one, the only thing that waits.',
        inputSchema: Type.Object({ name: Type.Optional(Waiting), kind: GateViewSchema.properties.kind }, closed),
        outputSchema: List,
        accessControl: forOwner,
        errorSchemas: refusals('not_found', 'ambiguous', 'invalid_state', 'trail_unavailable', 'trail_damaged'),
      },
      async ({ name, kind }) => ({ gates: [...answered(await told(coordinator.gates.find(name, kind)))] }),
    ),
    '/gates/watch': operation(
      {
        name: '/gates/watch',
        opType: 'subscription',
        description: 'Everything that waits for a person, as it is and again after each change.',
        inputSchema: Type.Object({}, closed),
        outputSchema: List,
        accessControl: forOwner,
        errorSchemas: refusals('unavailable', 'trail_unavailable', 'trail_damaged'),
      },
      async function* (_input, { signal }) {
        for await (const gates of streamed(coordinator.gates.watch(signal))) yield { gates: [...gates] }
      },
    ),
    '/gates/respond': operation(
      {
        name: '/gates/respond',
        opType: 'mutation',
        description:
          'Answers a gate. A run stands for the tasks of its plan that wait; each of them is answered by itself.',
        inputSchema: Type.Object(
          {
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
            passphrase: Type.Optional(Passphrase),
          },
          closed,
        ),
        outputSchema: Type.Object({ run: Type.String(), gates: Type.Array(Type.String()) }, closed),
        accessControl: forOwner,
        errorSchemas: ANSWER_REFUSALS,
      },
      async ({ gate, decision, changes, reason, passphrase }, { identity }) => {
        answered(await confirmed.check(passphrase))
        const why = reason === undefined ? {} : { reason }
        const principal = caller(identity)
        if (decision !== 'modify') {
          if (changes) answered(refuse('invalid_argument', 'Only `modify` changes something.'))
          return listed(await told(coordinator.gates.respond(gate, { decision, ...why, principal })))
        }
        if (!changes) return answered(refuse('invalid_argument', 'Say what is to change.'))
        return listed(await told(coordinator.gates.respond(gate, { decision, changes, ...why, principal })))
      },
    ),
    '/gates/passphrase': operation(
      {
        name: '/gates/passphrase',
        opType: 'mutation',
        description:
          'Sets the passphrase that answers need from now on, or takes it away where none is given. One that is set is needed for that.',
        inputSchema: Type.Object({ passphrase: Type.Optional(Passphrase), present: Type.Optional(Passphrase) }, closed),
        outputSchema: Type.Object({ required: Type.Boolean() }, closed),
        accessControl: forOwner,
        errorSchemas: refusals(...PASSPHRASE_REFUSALS, 'invalid_argument', 'invalid_config', 'profile_unusable'),
      },
      async ({ passphrase, present }) => {
        answered(await confirmed.change(passphrase, present))
        return { required: confirmed.required }
      },
    ),
    '/escalations/list': operation(
      {
        name: '/escalations/list',
        opType: 'query',
        description: 'Questions of agents that wait for a person.',
        inputSchema: OfRun,
        outputSchema: List,
        accessControl: forOwner,
        errorSchemas: refusals('not_found', 'ambiguous', 'trail_unavailable', 'trail_damaged'),
      },
      ({ run }) => list(run, 'question'),
    ),
    '/escalations/respond': operation(
      {
        name: '/escalations/respond',
        opType: 'mutation',
        description: 'Answers a question: with words, by ending the work, or by leaving it to the coordinator.',
        inputSchema: Type.Object(
          {
            question: Waiting,
            answer: Type.Enum(['envelope', 'abort', 'delegate']),
            text: Type.Optional(Type.String({ minLength: 1, maxLength: nodeLimits.replyLength })),
            passphrase: Type.Optional(Passphrase),
          },
          closed,
        ),
        outputSchema: Type.Object({ run: Type.String() }, closed),
        accessControl: forOwner,
        errorSchemas: ANSWER_REFUSALS,
      },
      async ({ question, answer, text, passphrase }, { identity }) => {
        answered(await confirmed.check(passphrase))
        const principal = caller(identity)
        if (answer !== 'envelope') return answered(await told(coordinator.gates.reply(question, { answer, principal })))
        if (text === undefined) return answered(refuse('invalid_argument', 'A reply needs a text.'))
        return answered(await told(coordinator.gates.reply(question, { answer, text, principal })))
      },
    ),
  }
}

function listed(result: Awaited<ReturnType<Coordination['gates']['respond']>>) {
  const { run, gates } = answered(result)
  return { run, gates: [...gates] }
}
