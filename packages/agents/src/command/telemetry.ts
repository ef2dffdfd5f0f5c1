// What a program tells of its requests while it works, in the file of its OpenTelemetry export: its output tells that
// at its end, or never. The file has one JSON value after the other, each over many lines.
import { type FileHandle, open } from 'node:fs/promises'
import { StringDecoder } from 'node:string_decoder'
import { type Clock, pause } from '@parley/core'
import { agentDefaults, agentLimits } from '../limits.ts'
import { type JsonObject, objectOf, parseObject, textOf } from './parsers/parser.ts'

/** Each event as a line for the parser: its attributes, `type: 'telemetry'`, and its name as `event`. */
export class TelemetryEvents {
  readonly #take: (line: JsonObject) => void
  #rest = ''

  constructor(take: (line: JsonObject) => void) {
    this.#take = take
  }

  push(text: string): void {
    this.#rest += text
    for (let end = this.#rest.indexOf(END); end >= 0; end = this.#rest.indexOf(END)) {
      const attributes = objectOf(parseObject(this.#rest.slice(0, end + END.length))?.attributes)
      this.#rest = this.#rest.slice(end + END.length)
      // `qwen-code.api_retry`
      const event = textOf(attributes['event.name'])?.split('.').at(-1)
      if (event !== undefined) this.#take({ ...attributes, type: 'telemetry', event })
    }
    if (this.#rest.length > agentLimits.jsonLineLength) this.#rest = ''
  }
}

/** What is inside of a value is indented. */
const END = '\n}\n'

/** Reads the file as it grows, for as long as the program works. */
export async function withTelemetry<T>(
  file: string,
  clock: Clock,
  take: (line: JsonObject) => void,
  work: () => Promise<T>,
): Promise<T> {
  const over = new AbortController()
  const reading = follow(file, clock, new TelemetryEvents(take), over.signal)
  try {
    return await work()
  } finally {
    over.abort()
    await reading
  }
}

async function follow(file: string, clock: Clock, events: TelemetryEvents, over: AbortSignal): Promise<void> {
  const decoder = new StringDecoder('utf8')
  const chunk = Buffer.alloc(agentDefaults.telemetryBytes)
  let handle: FileHandle | undefined
  try {
    for (let last = false; ; last = over.aborted) {
      handle ??= await open(file).catch(() => undefined)
      for (let bytes = -1; handle && bytes !== 0; ) {
        bytes = (await handle.read(chunk, 0, chunk.length, null)).bytesRead
        events.push(decoder.write(chunk.subarray(0, bytes)))
      }
      if (last) return
      await pause(clock, agentDefaults.telemetryMs, over)
    }
  } catch {
    // It is read for what it has in advance: the turn does not depend on it.
  } finally {
    await handle?.close()
  }
}
