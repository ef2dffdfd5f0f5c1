// A child process that is a node on its standard input and output, and prints where it should not: for the tests of
// stdio. `stubborn` stays when its input ends and when it is asked to end.
import { CallNode, stdioTransport } from '@parley/call'
import { echoRegistry } from './echo.ts'

const transport = stdioTransport()
const registry = echoRegistry()
registry.register(
  { name: '/child/print', opType: 'query', inputSchema: {}, outputSchema: {}, accessControl: {} },
  async text => {
    console.log(text)
    console.info(text)
    process.stdout.write(`${String(text)}\n`)
    return link.call('/test/echo', process.pid)
  },
)
const link = new CallNode({ registry }).attach(transport)
if (process.argv.includes('stubborn')) {
  setInterval(() => undefined, 1000)
  process.on('SIGTERM', () => undefined)
}
