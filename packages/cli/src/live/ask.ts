// Asks a peer for a person: streams the answer to a terminal, prints it whole elsewhere, cancels the turn at Ctrl-C.
import type { Context } from '../command.ts'
import { peerFailure } from '../commands/peers/peer-failure.ts'
import { EXIT, type ExitCode } from '../exit.ts'
import { Failure } from '../failure.ts'
import { cliLimits } from '../limits.ts'
import type { Input, NodeClient } from '../node/client.ts'
import type { AnswerView } from '../node/views.ts'
import { printJson, remark } from '../output.ts'
import { costLine } from '../render/peers.ts'
import { oneLine } from '../render/text.ts'
import { Speech } from './speech.ts'

export async function askPeer(context: Context, api: NodeClient, input: Input<'/link/ask'>): Promise<ExitCode> {
  if (input.prompt === '' || input.prompt.length > cliLimits.promptLength) {
    throw new Failure('usage', input.prompt === '' ? 'The question is empty.' : 'The text is too long.', {
      why: `It must be 1 to ${cliLimits.promptLength} characters.`,
      next: `parley ask ${oneLine(input.peer)} "what you want"`,
    })
  }
  const { terminal, global } = context
  const speech = new Speech(terminal, terminal.seen && !global.json)
  const stop = new Stop(context, api, input.peer)
  let answer: AnswerView | undefined
  try {
    for await (const part of api.streams.link.ask(input, { signal: stop.signal })) {
      if (part.type === 'session') stop.session = part.session
      else if (part.type === 'text') speech.say(part.text)
      else answer = part
    }
  } catch (thrown) {
    if (!stop.asked) throw peerFailure(input.peer, thrown, { begun: speech.begun || stop.session !== '' })
  } finally {
    stop.close()
    speech.endLine()
  }
  if (stop.asked) return cancelled(context, input.peer, answer)
  if (!answer)
    throw peerFailure(input.peer, new Failure('link_empty_response', 'The answer ended early.'), { begun: true })
  const { type: _, ...plain } = answer
  if (global.json) printJson(context, plain)
  else speech.conclude(answer.text)
  if (terminal.seen) remark(context, terminal.paint('quiet', costLine(answer)))
  if (!answer.interrupted && !answer.failed) return EXIT.done
  const what = answer.interrupted ? 'was cancelled there before it finished' : 'failed there'
  remark(context, `The turn of ${oneLine(input.peer)} ${what}.`)
  return EXIT.failed
}

function cancelled(context: Context, peer: string, answer: AnswerView | undefined): ExitCode {
  const cost = answer ? ` It had cost ${costLine(answer)}.` : ''
  remark(context, `Cancelled: the turn of ${oneLine(peer)} is ending.${cost}`)
  return EXIT.interrupted
}

/** The first Ctrl-C cancels the turn and waits for its cost, or hangs up; the second leaves at once. */
class Stop {
  session = ''
  asked = false
  readonly #context: Context
  readonly #api: NodeClient
  readonly #peer: string
  readonly #hangUp = new AbortController()
  readonly #takeBack: () => void
  #patience = () => {}

  constructor(context: Context, api: NodeClient, peer: string) {
    this.#context = context
    this.#api = api
    this.#peer = peer
    this.#takeBack = context.terminal.onInterrupt(() => this.#interrupted())
  }

  get signal(): AbortSignal {
    return this.#hangUp.signal
  }

  close(): void {
    this.#takeBack()
    this.#patience()
  }

  #interrupted(): void {
    const { terminal, clock } = this.#context
    if (this.asked) {
      terminal.err('\n')
      terminal.leave(EXIT.interrupted)
      return
    }
    this.asked = true
    // Without its session another turn of ours could be cancelled.
    if (this.session === '') {
      this.#hangUp.abort()
      return
    }
    this.#patience = clock.after(cliLimits.cancelMs, () => this.#hangUp.abort())
    this.#api.link.cancel({ peer: this.#peer, session: this.session }, { timeout: cliLimits.callMarginMs }).then(
      ({ cancelled }) => {
        if (!cancelled) this.#hangUp.abort()
      },
      () => this.#hangUp.abort(),
    )
  }
}
