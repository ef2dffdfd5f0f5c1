// A side of the call benchmark: a way to call an operation in another process. Every side does the same two things, an
// echo and a stream, and what is measured is defined here once for all of them.

/** About 100 bytes of JSON. */
export interface Message {
  readonly seq: number
  readonly from: string
  readonly to: string
  readonly text: string
}

export function message(seq: number): Message {
  return { seq, from: 'planner', to: 'reviewer', text: 'The change is small and all tests pass.' }
}

/** The client's half, in a process of its own. */
export interface Client {
  echo(given: Message): Promise<Message>
  /** Asks for so many values; each goes to `take` in order, and the promise is fulfilled after the last. */
  stream(count: number, take: (value: Message) => void): Promise<void>
}

export interface Side {
  /**
   * Starts the server's half in a process of its own. What it needs is in the folder, or listens at the broker's
   * address.
   */
  serve(place: Place): Promise<void>
  connect(place: Place): Promise<Client>
}

export interface Place {
  /** A folder of this side alone, for its socket. */
  readonly folder: string
  /** A port of the loopback interface of this side alone. */
  readonly port: number
}

export interface Calls {
  readonly count: number
  readonly perSecond: number
  /** Microseconds from calling until the answer is there. */
  readonly p50: number
  readonly p99: number
}

const SAMPLES = 2 ** 20

/** Keeps so many calls under way for so long. */
export async function measureCalls(client: Client, concurrency: number, milliseconds: number): Promise<Calls> {
  const times = new Float64Array(SAMPLES)
  let calls = 0
  const start = performance.now()
  const end = start + milliseconds
  const loop = async () => {
    for (let began = performance.now(); began < end; ) {
      const seq = ++calls
      const answer = await client.echo(message(seq))
      if (answer.seq !== seq) throw new Error(`the answer to ${seq} is that to ${answer.seq}`)
      const ended = performance.now()
      times[seq % SAMPLES] = ended - began
      began = ended
    }
  }
  await Promise.all(Array.from({ length: concurrency }, loop))
  const seconds = (performance.now() - start) / 1000
  const sorted = times.subarray(0, Math.min(calls + 1, SAMPLES)).sort()
  const percentile = (share: number) => (sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN) * 1000
  return { count: calls, perSecond: calls / seconds, p50: percentile(0.5), p99: percentile(0.99) }
}

/** Values per second from asking for a stream until its last value has been consumed. */
export async function measureStream(client: Client, count: number): Promise<number> {
  let taken = 0
  const start = performance.now()
  await client.stream(count, value => {
    if (value.seq !== taken) throw new Error(`value ${value.seq} came in place of ${taken}`)
    taken++
  })
  if (taken !== count) throw new Error(`${taken} values came, not ${count}`)
  return (count / (performance.now() - start)) * 1000
}
