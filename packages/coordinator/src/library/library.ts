// The library of a profile (core's contract) on its library run: appends of all callers go to the kernel in one line
// and share commits; readers page from disk and then follow what memory keeps of the newest records.
import {
  canonicalize,
  err,
  LIBRARY_RECORDS,
  type Library,
  type LibraryRecord,
  type LibraryRecordType,
  ok,
  ParleyError,
  type Principal,
  type Result,
  refuse,
} from '@parley/core'
import type { Users } from '../people/users.ts'
import type { RunsHost } from '../run/runs-host.ts'
import { libraryLimits } from './limits.ts'
import { libraryError, recordOf, type StoredRecord, stopped } from './stored-record.ts'
import { storedRecords } from './stored-records.ts'
import { Tail } from './tail.ts'

type Host = Pick<RunsHost, 'trail' | 'runtime' | 'machine' | 'stopping' | 'log'>

type Draft = Parameters<Library['append']>[0]

interface Waiting {
  readonly type: LibraryRecordType
  readonly by: Principal | 'system'
  readonly content: string
  readonly bytes: number
  readonly answer: (result: Result<LibraryRecord>) => void
}

export class ProfileLibrary implements Library {
  readonly #host: Host
  readonly #admit: Users['admit']
  readonly #tail = new Tail()
  readonly #waiting: Waiting[] = []
  #waitingBytes = 0
  #underWay = 0
  #underWayBytes = 0
  #freed = Promise.withResolvers<void>()
  #filing = false

  constructor(host: Host, users: Pick<Users, 'admit'>) {
    this.#host = host
    this.#admit = (...asked) => users.admit(...asked)
  }

  append({ type, by, body }: Draft): Promise<Result<LibraryRecord>> {
    const content = contentOf(type, body)
    if (!content.ok) return Promise.resolve(content)
    const bytes = Buffer.byteLength(content.value)
    const isFull =
      this.#waiting.length >= libraryLimits.waiting || this.#waitingBytes + bytes > libraryLimits.waitingBytes
    if (isFull)
      return Promise.resolve(
        refuse('unavailable', 'Too many records wait for the library; try again.', { retryable: true }),
      )
    return new Promise(answer => {
      this.#waiting.push({ type, by, content: content.value, bytes, answer })
      this.#waitingBytes += bytes
      if (!this.#filing) void this.#fileAll()
    })
  }

  async *read({ after = 0, follow }: { readonly after?: number; readonly follow?: AbortSignal } = {}) {
    const { stopping } = this.#host
    for (let at = after; !follow?.aborted; ) {
      if (stopping.aborted) throw stopped()
      const { count } = this.#tail
      const isLive = follow !== undefined && this.#tail.covers(at)
      for await (const record of isLive ? this.#tail.behind(at) : this.#stored(at)) {
        at = record.at
        yield recordOf(record)
        if (follow?.aborted) return
      }
      if (!follow) return
      await this.#tail.more(count, follow, stopping)
    }
  }

  async *#stored(after: number): AsyncGenerator<StoredRecord> {
    try {
      yield* storedRecords(this.#host, after)
    } catch (cause) {
      throw this.#host.stopping.aborted ? stopped() : libraryError(cause)
    }
  }

  /** One after the other up to the kernel, which is where their order comes from; nobody waits for a commit here. */
  async #fileAll(): Promise<void> {
    this.#filing = true
    for (let next = this.#waiting.shift(); next; next = this.#waiting.shift()) {
      this.#waitingBytes -= next.bytes
      await this.#room(next.bytes)
      const refused = await this.#refusal(next).catch(cause => libraryError(cause))
      if (refused) next.answer(err(refused))
      else void this.#file(next)
    }
    this.#filing = false
  }

  async #room(bytes: number): Promise<void> {
    const { underWay, underWayBytes } = libraryLimits
    while (this.#underWay >= underWay || (this.#underWay > 0 && this.#underWayBytes + bytes > underWayBytes))
      await this.#freed.promise
  }

  /** Why nothing can be filed now. What a person may do is the kernel's to say, and on record. */
  async #refusal({ by }: Waiting): Promise<ParleyError | undefined> {
    const { runtime, machine, stopping } = this.#host
    if (stopping.aborted) return stopped()
    const { held } = machine
    if (held) return new ParleyError('machine_fault', `${held.message} Nothing was recorded.`, { retryable: true })
    if (by !== 'system' && runtime.users.get(by.id) === undefined) {
      const known = await this.#admit(by, 'library')
      if (!known.ok) return libraryError(known.error)
    }
    const run = await runtime.library.run()
    // The kernel would hold it until the trail is back, and whoever asks would not know.
    if (run.ok && run.value !== undefined && runtime.isDegraded(run.value))
      return new ParleyError('trail_unavailable', 'Nothing was recorded: the library cannot be written now.', {
        retryable: true,
      })
    const ready = await runtime.library.ready()
    return ready.ok ? undefined : libraryError(ready.error)
  }

  async #file({ type, by, content, bytes, answer }: Waiting): Promise<void> {
    const user = by === 'system' ? undefined : by.id
    const publish = this.#tail.expect()
    this.#underWay++
    this.#underWayBytes += bytes
    const filed = await this.#host.runtime.library
      .file(user, { record: type, content })
      .catch(cause => err(libraryError(cause)))
    this.#underWay--
    this.#underWayBytes -= bytes
    this.#freed.resolve()
    this.#freed = Promise.withResolvers()
    if (!filed.ok) {
      publish(undefined)
      answer(err(libraryError(filed.error)))
      return
    }
    const record = { ...filed.value, type, by: user ?? 'system', content }
    publish(record)
    answer(ok(recordOf(record)))
  }
}

function contentOf(type: LibraryRecordType, body: unknown): Result<string> {
  if (!LIBRARY_RECORDS.includes(type)) return refuse('invalid_argument', `The library has no records '${type}'.`)
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    return refuse('invalid_argument', 'The body of a record is an object.')
  let content: string
  try {
    content = canonicalize(body)
  } catch (cause) {
    return err(new ParleyError('invalid_argument', `The body of a record is plain JSON: ${String(cause)}`, { cause }))
  }
  if (Buffer.byteLength(content) > libraryLimits.bodyBytes)
    return refuse('invalid_argument', `The body of a record has at most ${libraryLimits.bodyBytes} bytes.`)
  return ok(content)
}
