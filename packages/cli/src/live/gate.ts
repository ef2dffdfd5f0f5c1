// One thing that waits, shown whole and answered at the terminal.
import type { Context } from '../command.ts'
import type { Input, NodeClient } from '../node/client.ts'
import type { GateView } from '../node/views.ts'
import { drawing, printLines } from '../output.ts'
import { questionLines, untilLines } from '../render/show.ts'
import { lines, wrap } from '../render/text.ts'
import { interruption } from '../terminal.ts'

/** `changes`: the fields that `modify` changes. */
export type Decision = Omit<Input<'/gates/respond'>, 'gate' | 'passphrase'>
export type Reply = Omit<Input<'/escalations/respond'>, 'question' | 'passphrase'>
export type GateChoice = Decision | Reply

export async function answerGate(api: NodeClient, { id }: GateView, choice: GateChoice): Promise<void> {
  if ('answer' in choice) await api.escalations.respond({ question: id, ...choice })
  else await api.gates.respond({ gate: id, ...choice })
}

export async function decideGate(context: Context, gate: GateView): Promise<GateChoice | 'later' | 'leave'> {
  return gate.kind === 'question' ? askReply(context, gate) : askGate(context, gate)
}

async function askGate(context: Context, gate: GateView): Promise<Decision | 'later' | 'leave'> {
  printLines(context, ['', ...aboutLines(context, gate)])
  const question = '[a]pprove, [r]eject, [m]odify, [d]etails, [l]ater: '
  for (;;) {
    const word = await choose(['approve', 'reject', 'modify', 'details', 'later'], () => ask(context, question))
    switch (word) {
      case undefined:
        return 'leave'
      case 'approve':
        return { decision: 'approve' }
      case 'reject': {
        const reason = (await ask(context, 'Reason (optional): '))?.trim()
        return { decision: 'reject', ...(reason && { reason }) }
      }
      case 'modify': {
        const changes = await askChanges(context, gate)
        if (changes) return { decision: 'modify', changes }
        break
      }
      case 'details':
        printLines(context, lines(JSON.stringify(gate.subject, null, 2) ?? 'There are no more details.'))
        break
      case 'later':
        return 'later'
    }
  }
}

async function askChanges(context: Context, gate: GateView): Promise<Record<string, unknown> | undefined> {
  const typed = await ask(context, `FIELD=VALUE (${gate.changes.join(', ')}; empty: none): `)
  const at = typed?.indexOf('=') ?? -1
  if (typed === undefined || at <= 0) return undefined
  const value = typed.slice(at + 1).trim()
  try {
    return { [typed.slice(0, at).trim()]: JSON.parse(value) }
  } catch {
    return { [typed.slice(0, at).trim()]: value }
  }
}

async function askReply(context: Context, gate: GateView): Promise<Reply | 'later' | 'leave'> {
  printLines(context, ['', ...aboutLines(context, gate)])
  const typed = await ask(context, 'Reply (empty: later): ')
  if (typed === undefined) return 'leave'
  return typed.trim() === '' ? 'later' : { answer: 'envelope', text: typed.trim() }
}

/** The question and the readable part of its subject. */
export function aboutLines(context: Context, gate: GateView): readonly string[] {
  const drawn = drawing(context)
  const { paint, width, now } = drawn
  return [
    ...questionLines(gate, drawn),
    ...subjectTexts(gate).flatMap(text =>
      lines(text).flatMap(line => wrap(line, Math.max(20, width - 2)).map(each => `  ${each}`)),
    ),
    ...untilLines(gate, now).map(line => paint('quiet', line)),
  ]
}

/** A prompt, a message, a conflict or a proposal. */
function subjectTexts({ subject }: GateView): readonly string[] {
  const about = (subject ?? {}) as {
    readonly description?: unknown
    readonly payload?: { readonly content?: unknown }
    readonly conflict?: { readonly description?: unknown }
    readonly proposal?: { readonly resolution?: unknown }
  }
  const found = [about.description, about.payload?.content, about.conflict?.description, about.proposal?.resolution]
  return found.filter(text => typeof text === 'string').filter(text => text.trim() !== '')
}

/** Asks until the answer is one of the words or its first letter; undefined at Ctrl-C or the end of input. */
export async function choose<const Word extends string>(
  words: readonly Word[],
  asked: () => Promise<string | undefined>,
): Promise<Word | undefined> {
  for (;;) {
    const typed = (await asked())?.trim().toLowerCase()
    if (typed === undefined) return undefined
    const word = words.find(each => typed === each || typed === each[0])
    if (word !== undefined) return word
  }
}

/** Undefined at Ctrl-C and at the end of input. */
export async function ask({ terminal }: Context, question: string): Promise<string | undefined> {
  using interrupted = interruption(terminal)
  const typed = await terminal.ask(question, interrupted.signal)
  if (typed === undefined) terminal.err('\n')
  return typed
}
