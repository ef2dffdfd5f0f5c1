// A process full of peers for the tests of scale, told by its parent what to do: `workers <path> <count>` registers so
// many workers at a head, `subscribers <path> <links> <each>` opens subscriptions. It reports each step, and goes with
// its parent.
import { CallNode } from '../node.ts'
import { connectUnix } from '../transport/sockets.ts'
import { echo, registryOf } from './peer.ts'

const [kind, path = '', ...counts] = process.argv.slice(2)
const [first = 0, second = 0] = counts.map(Number)
process.on('disconnect', () => process.exit())

function report(step: string, count: number): void {
  process.send!({ step, count })
}

async function workers(): Promise<void> {
  const node = new CallNode({ registry: registryOf({ '/test/echo': echo }) })
  let registered = 0
  for (let at = 0; at < first; at += 50)
    await Promise.all(
      Array.from({ length: 50 }, async (_, index) => {
        const link = node.attach(await connectUnix(path))
        await link.call('/head/services/register', { node: `w${at + index}`, operations: ['/test/echo'] })
        registered++
      }),
    )
  report('registered', registered)
}

async function subscribers(): Promise<void> {
  const node = new CallNode({ registry: registryOf({}) })
  const iterators: AsyncIterator<unknown>[] = []
  let values = 0
  for (let index = 0; index < first; index++) {
    const link = node.attach(await connectUnix(path))
    const opened = Array.from({ length: second }, () => link.subscribe('/test/ticks')[Symbol.asyncIterator]())
    for (const { done } of await Promise.all(opened.map(each => each.next()))) if (!done) values++
    iterators.push(...opened)
  }
  report('open', values)
  await new Promise(resolve => process.once('message', resolve))
  await Promise.all(iterators.map(iterator => iterator.return!()))
  report(
    'aborted',
    node.links.reduce((all, { pendingCount }) => all + pendingCount, 0),
  )
}

await (kind === 'workers' ? workers() : subscribers())
