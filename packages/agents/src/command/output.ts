// What an agent prints, as events and as the turn's answer. Standard output is text or JSON lines; standard error is
// shown to watchers and kept for the case of a failure.

import type { Clock, TurnEvent, Usage } from '@parley/core'
import { agentLimits } from '../limits.ts'
import { laterUsage, sameUsage } from '../metering.ts'
import type { OutputName } from './config.ts'
import { LineDecoder, plainText } from './lines.ts'
import { parsers } from './parsers/index.ts'
import { isObject, type JsonObject, type Parser, type Report } from './parsers/parser.ts'
import { ByteTail, shorten, TextTail } from './tail.ts'
import { LineEvents } from './throttle.ts'

export interface OutputOptions {
  readonly output: OutputName
  readonly clock: Clock
  readonly emit: (event: TurnEvent) => void
  readonly hide: (text: string) => string
  /** Gets every line. */
  readonly log?: ((line: string) => void) | undefined
}

export interface OutputEnd {
  readonly text: string
  readonly usage: Usage
  readonly blocked?: string
  readonly failed?: string
  readonly session?: string
  /** It said and used nothing: whatever ended it came before its work. */
  readonly idle: boolean
  readonly stderr: string
  /** The last line of standard error, or of standard output, that says something. */
  readonly lastWords: string
}

export class AgentOutput {
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
  #session: string | undefined
  #idle = true
  #usage: Usage = {}
  #lastOut = ''
  #lastError = ''

  constructor({ output, clock, emit, hide, log = () => {} }: OutputOptions) {
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

  stdout(bytes: Buffer): void {
    this.#stdout.push(bytes)
  }

  stderr(bytes: Buffer): void {
    this.#errors.add(bytes)
    this.#stderr.push(bytes)
  }

  end(): OutputEnd {
    this.#stdout.end()
    this.#stderr.end()
    this.#endMessage()
    this.#events.end()
    return {
      text: this.#answer(),
      usage: this.#usage,
      ...(this.#blocked !== undefined && { blocked: this.#blocked }),
      ...(this.#failed !== undefined && { failed: this.#failed }),
      ...(this.#session !== undefined && { session: this.#session }),
      idle: this.#idle && !used(this.#usage),
      stderr: this.#hide(plainText(this.#errors.read())),
      lastWords: shorten(this.#lastError || this.#lastOut, agentLimits.summaryLength),
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
    if (text.trim() === '') return
    this.#lastError = text.trim()
    this.#events.line('notice', text)
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
        // A message that never ends keeps its end.
        this.#growing = (this.#growing + text).slice(-agentLimits.resultLength)
      },
      endMessage: () => this.#endMessage(),
      thinking: text => this.#events.line('thinking', text),
      notice: text => this.#events.line('notice', text),
      tool: (name, state, summary) => {
        this.#idle = false
        this.#events.tool(name, state, summary)
      },
      usage: total => {
        const usage = laterUsage(this.#usage, total)
        if (sameUsage(usage, this.#usage)) return
        this.#usage = usage
        this.#emit({ type: 'usage', usage })
      },
      result: text => {
        this.#result = text
      },
      blocked: reason => {
        this.#blocked = shorten(plainText(reason), agentLimits.summaryLength)
      },
      failed: message => {
        this.#failed = shorten(plainText(message), agentLimits.summaryLength)
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

function parseObject(line: string): JsonObject | undefined {
  if (!line.trimStart().startsWith('{')) return undefined
  try {
    const value: unknown = JSON.parse(line)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}
