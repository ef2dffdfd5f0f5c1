// One end of one side, in a process of its own: `end.ts server|client SIDE FOLDER PORT`. It tells the benchmark when it
// is ready, and then measures what it is asked to. `end.ts local` is Parley without any wire.

import { type Client, measureCalls, measureStream, message } from './side.ts'
import { benchNode } from './sides/parley.ts'
import { ENTRIES } from './sides.ts'

export type Order =
  | { readonly do: 'calls'; readonly concurrency: number; readonly milliseconds: number }
  | { readonly do: 'stream'; readonly count: number }
  | { readonly do: 'invokes'; readonly milliseconds: number }
  /** Microseconds of processor time that this process has used. */
  | { readonly do: 'cpu' }

async function follow(order: Order, client: Client | undefined): Promise<unknown> {
  if (order.do === 'cpu') return processorTime()
  if (order.do === 'invokes') return measureInvokes(order.milliseconds)
  if (order.do === 'stream') return measureStream(client!, order.count)
  return measureCalls(client!, order.concurrency, order.milliseconds)
}

function processorTime(): number {
  const { user, system } = process.cpuUsage()
  return user + system
}

/** Local calls through an env, one after another: the same operation with the same checks of its schemas. */
async function measureInvokes(milliseconds: number): Promise<number> {
  const { env } = benchNode()
  const start = performance.now()
  const end = start + milliseconds
  let calls = 0
  for (let now = start; now < end; now = performance.now()) {
    for (let each = 0; each < 100; each++) {
      const { result } = await env.invoke('bench', 'echo', message(++calls))
      if (!result.ok) throw result.error
    }
  }
  return (calls / (performance.now() - start)) * 1000
}

const [role, name = '', folder = '', port] = process.argv.slice(2)
const place = { folder, port: Number(port) }
const side = role === 'local' ? undefined : await ENTRIES[name]!.load()
if (role === 'server') await side!.serve(place)
const client = role === 'client' ? await side!.connect(place) : undefined

process.on('message', (order: Order) => {
  follow(order, client).then(
    result => process.send!({ result }),
    (error: unknown) => process.send!({ error: error instanceof Error ? error.message : String(error) }),
  )
})
process.on('disconnect', () => process.exit())
process.send!({ result: 'ready' })
