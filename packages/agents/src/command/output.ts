// What an agent prints, as events and as the turn's answer. Standard output is text or JSON lines; standard error is
// shown to watchers and kept for the case of a failure.
import type { Clock, TurnEvent, Usage } from '@parley/core'
import { agentLimits } from '../limits.ts'
import { laterUsage, sameUsage } from '../metering.ts'
import { type Outage, type Refusal, reasonOfStatus, refusalText } from '../outage/outage.ts'
import type { Patience } from '../outage/patience.ts'
import { resetAt, resetIn } from '../outage/resets.ts'
import { reasonInWords, reasonOfProgram, retryInLine } from '../outage/wordings.ts'
import type { OutputName } from './config.ts'
import { lastWordsOf } from './last-words.ts'
import { LineDecoder, plainText } from './lines.ts'
import { logged, parsers } from './parsers/index.ts'
import { type JsonObject, type Parser, parseObject, type Report } from './parsers/parser.ts'
import { ByteTail, shorten, TextTail } from './tail.ts'
import { LineEvents } from './throttle.ts'

export interface OutputOptions {
  readonly output: OutputName
  readonly clock: Clock
  readonly emit: (event: TurnEvent) => void
  readonly hide: (text: string) => string
  /** Gets every line. */
  readonly log?: ((line: string) => void) | undefined
  /** Of the turn, under each of its names, the longest first: what is inside is shown without it. */
  readonly folders: readonly string[]
  readonly patience: Patience
}

export interface OutputEnd {
  readonly text: string
  readonly usage: Usage
  readonly blocked?: string
  readonly failed?: string
  /** It ended because it has spent what it was allowed to. */
  readonly exhausted: boolean
  readonly session?: string
  /** It said and used nothing: whatever ended it came before its work. */
  readonly idle: boolean
  /** The service behind the agent refused to work, and has not worked since. */
  readonly refused?: Outage
  /** The same, or what its last words say about it. */
  readonly outage?: Outage
  readonly stderr: string
  /** The line of standard error that says what went wrong, or the last one of standard output. */
  readonly lastWords: string
}

export class AgentOutput {
  readonly #options: OutputOptions
  readonly #emit: (event: TurnEvent) => void
  readonly #hide: (text: string) => string
  readonly #events: LineEvents
  readonly #stdout: LineDecoder
  readonly #stderr: LineDecoder
  readonly #errors = new ByteTail(agentLimits.stderrBytes)
  readonly #plain = new TextTail()
  readonly #parser: Parser | undefined
  #growing = ''
  #message: string | undefined
  #result: string | undefined
  #blocked: string | undefined
  #failed: string | undefined
  #exhausted = false
  #session: string | undefined
  #idle = true
  #refused: Outage | undefined
  #usage: Usage = {}
  #lastOut = ''

  constructor(options: OutputOptions) {
    const { output, clock, emit, hide, log = () => {} } = options
    this.#options = options
    this.#emit = emit
    this.#hide = hide
    this.#events = new LineEvents(clock, emit)
    this.#parser = output === 'text' ? undefined : parsers[output](this.#report())
    const most = output === 'text' ? agentLimits.lineLength : agentLimits.jsonLineLength
    const taken = (text: string, take: (line: string) => void) => {
      const line = hide(text)
      log(line)
      take(line)
    }
    const progress = (text: string) => this.#events.progress(hide(text))
    this.#stdout = new LineDecoder({ line: text => taken(text, line => this.#line(line)), progress }, most)
    this.#stderr = new LineDecoder(
      { line: text => taken(text, line => this.#errorLine(line)), progress },
      agentLimits.lineLength,
    )
  }

  stdout(bytes: Uint8Array): void {
    this.#stdout.push(bytes)
  }

  stderr(bytes: Uint8Array): void {
    this.#stderr.push(bytes)
  }

  /** What the program told beside its output. */
  telemetry(line: JsonObject): void {
    this.#parser?.(line)
  }

  end(): OutputEnd {
    this.#stdout.end()
    this.#stderr.end()
    this.#endMessage()
    this.#events.end()
    const stderr = this.#hide(plainText(this.#errors.read()))
    const lastWords = shorten(lastWordsOf(stderr) || this.#lastOut, agentLimits.summaryLength)
    const outage =
      this.#refused ?? this.#inWords([this.#failed ?? '', lastWords, stderr.slice(-agentLimits.summaryLength)])
    return {
      text: this.#answer(),
      usage: this.#usage,
      ...(this.#blocked !== undefined && { blocked: this.#blocked }),
      ...(this.#failed !== undefined && { failed: this.#failed }),
      exhausted: this.#exhausted,
      ...(this.#session !== undefined && { session: this.#session }),
      idle: this.#idle && !used(this.#usage),
      ...(this.#refused && { refused: this.#refused }),
      ...(outage && { outage }),
      stderr,
      lastWords,
    }
  }

  #answer(): string {
    const said = this.#result ?? this.#message
    if (this.#parser === undefined || said === undefined) return this.#plain.read()
    const answer = new TextTail()
    answer.add(plainText(said))
    return answer.read()
  }

  #line(text: string): void {
    const object = this.#parser && parseObject(text)
    if (this.#parser && object) {
      this.#parser(object)
      return
    }
    this.#plain.add(`${text}\n`)
    if (text.trim() === '') return
    this.#lastOut = text.trim()
    this.#events.line('text', text)
  }

  #errorLine(text: string): void {
    const line = logged[this.#options.output]?.(text)
    if (line) {
      this.#parser?.(line)
      return
    }
    this.#errors.add(Buffer.from(`${text}\n`))
    if (text.trim() === '') return
    const refusal = retryInLine(this.#options.output, text.trim())
    if (refusal) this.#refusal(refusal)
    // A known program tells what it does in its events: what else it prints is noise.
    else if (isOwn(this.#options.output)) this.#events.line('notice', text)
  }

  #inWords(ending: readonly string[]): Outage | undefined {
    const { output, clock } = this.#options
    const said = ending.join('\n')
    const reason = reasonInWords(output, said)
    if (reason === undefined) return undefined
    const until = resetIn(said, clock.now())
    return { reason, ...(until !== undefined && { until }) }
  }

  #refusal(refusal: Refusal): void {
    const { output, clock, patience } = this.#options
    const { status, resetsAt, retry } = refusal
    const message =
      refusal.message === undefined ? undefined : shorten(plainText(refusal.message), agentLimits.summaryLength)
    const byStatus = reasonOfStatus(status)
    // The status 429 is used for three things, and 400 for anything.
    const vague = byStatus === undefined || byStatus === 'quota'
    const inWords = vague && message !== undefined ? reasonOfProgram(output, message) : undefined
    // A line about another try may follow one that said why.
    const reason = refusal.reason ?? inWords ?? byStatus ?? (retry && this.#refused?.reason)
    if (reason === undefined && !retry) {
      if (message !== undefined) this.#events.line('notice', message)
      return
    }
    this.#events.line('notice', refusalText({ ...refusal, message }, reason))
    if (reason === undefined) return
    const now = clock.now()
    const until = resetAt(resetsAt, now) ?? (message === undefined ? undefined : resetIn(message, now))
    this.#refused = { reason, ...(status !== undefined && { status }), ...(until !== undefined && { until }) }
    patience.refused(this.#refused, retry?.delayMs)
  }

  #inside(text: string): string {
    return this.#options.folders.reduce((rest, folder) => rest.replaceAll(`${folder}/`, ''), text)
  }

  #worked(): void {
    this.#refused = undefined
    this.#options.patience.calm()
  }

  #endMessage(): void {
    if (this.#growing === '') return
    const text = this.#growing
    this.#growing = ''
    this.#said(text)
  }

  #said(text: string): void {
    if (text.trim() === '') return
    this.#idle = false
    this.#worked()
    this.#message = text
    this.#events.line('text', text)
  }

  #report(): Report {
    return {
      message: text => {
        this.#endMessage()
        this.#said(text)
      },
      delta: text => {
        this.#worked()
        // A message that never ends keeps its end.
        this.#growing = (this.#growing + text).slice(-agentLimits.resultLength)
      },
      endMessage: () => this.#endMessage(),
      thinking: text => {
        this.#worked()
        this.#events.line('thinking', text)
      },
      notice: text => this.#events.line('notice', text),
      tool: (name, state, summary) => {
        this.#idle = false
        this.#worked()
        this.#events.tool(name, state, summary && this.#inside(summary))
      },
      refused: refusal => this.#refusal(refusal),
      usage: total => {
        const usage = laterUsage(this.#usage, total)
        if (sameUsage(usage, this.#usage)) return
        this.#usage = usage
        this.#emit({ type: 'usage', usage })
      },
      result: text => {
        this.#worked()
        this.#result = text
      },
      blocked: reason => {
        this.#blocked = shorten(plainText(reason), agentLimits.summaryLength)
      },
      failed: message => {
        this.#failed = shorten(plainText(message), agentLimits.summaryLength)
      },
      exhausted: () => {
        this.#exhausted = true
      },
      session: id => {
        if (id.length <= agentLimits.sessionLength && SESSION.test(id)) this.#session = id
      },
    }
  }
}

/** It becomes an argument of the next turn's command line. */
const SESSION = /^[A-Za-z0-9][\w.:-]*$/

function used({ tokensIn = 0, tokensOut = 0, usd = 0 }: Usage): boolean {
  return tokensIn + tokensOut + usd > 0
}

/** What the user wrote, or wrote for Parley. */
function isOwn(output: OutputName): boolean {
  return output === 'text' || output === 'json-lines'
}
