// Clients of one event stream in a process of their own: node stream-fleet.ts <url> <readers> <sleepers>. Readers read
// at once and report when all of them have reached the end; sleepers open a stream, read nothing until they are told to
// wake, and then go on behind what they have got.
import { createHash } from 'node:crypto'
import { get, type IncomingMessage } from 'node:http'

export interface FleetReport {
  readonly step: 'read' | 'woken'
  /** What the first reader got. */
  readonly text: string
  /** Digests of what readers got, or the ids that sleepers got, each different one once. */
  readonly different: readonly string[]
  /** Milliseconds from the time on an event to its arrival, for events behind the opening of a stream; sorted. */
  readonly latencies: readonly number[]
  /** Sleepers whose first stream broke. */
  readonly broken: number
}

const [url = '', readers = '0', sleepers = '0'] = process.argv.slice(2)

function open(after?: string): Promise<IncomingMessage> {
  const headers = {
    accept: 'text/event-stream',
    authorization: 'Bearer U',
    ...(after !== undefined && { 'last-event-id': after }),
  }
  return new Promise((resolve, reject) => get(url, { agent: false, headers }, resolve).on('error', reject))
}

const latencies: number[] = []

/** Calls back for every whole frame, and gives what is left of half a one. */
async function eachFrame(response: IncomingMessage, take: (frame: string) => void): Promise<void> {
  let rest = ''
  response.setEncoding('utf8')
  for await (const piece of response) {
    const frames = (rest + piece).split('\n\n')
    rest = frames.pop()!
    for (const frame of frames) take(frame)
  }
  if (rest !== '') throw new Error('the stream ended in half a frame')
}

/** A digest of everything; the whole text, too, where it is wanted. */
async function read(response: IncomingMessage, whole?: string[]): Promise<string> {
  const opened = Date.now()
  const hash = createHash('sha256')
  await eachFrame(response, frame => {
    hash.update(frame)
    whole?.push(`${frame}\n\n`)
    const [, at] = /"timestamp":"([^"]+)"/.exec(frame) ?? []
    if (at !== undefined && Date.parse(at) >= opened) latencies.push(Date.now() - Date.parse(at))
  })
  return hash.digest('hex')
}

const idOf = (frame: string) => /^id: (\d+)$/m.exec(frame)?.[1] ?? []

async function wake(response: IncomingMessage): Promise<{ readonly ids: string; readonly broken: boolean }> {
  const ids: string[] = []
  let broken = false
  const take = (frame: string) => void ids.push(...[idOf(frame)].flat())
  await eachFrame(response, take).catch(() => {
    broken = true
  })
  await eachFrame(await open(ids.at(-1)), take)
  return { ids: ids.join(' '), broken }
}

const asleep = await Promise.all(Array.from({ length: Number(sleepers) }, () => open()))
process.on('message', async () => {
  const woken = await Promise.all(asleep.map(wake))
  const ids = [...new Set(woken.map(each => each.ids))]
  report({
    step: 'woken',
    text: '',
    different: ids,
    latencies: [],
    broken: woken.filter(({ broken }) => broken).length,
  })
  process.disconnect()
})
const first: string[] = []
const digests = await Promise.all(
  Array.from({ length: Number(readers) }, (_, at) =>
    open().then(response => read(response, at === 0 ? first : undefined)),
  ),
)
const sorted = latencies.toSorted((one, other) => one - other)
report({ step: 'read', text: first.join(''), different: [...new Set(digests)], latencies: sorted, broken: 0 })

function report(made: FleetReport): void {
  process.send!(made)
}
