// The limit: `node:http` alone, in a process of its own. It parses the body and answers a fixed JSON. `/events` is a
// stream of events in the frames of ALX (ALX-RUN-06) that are written and nothing else.
import { createServer, type ServerResponse } from 'node:http'
import { listen, serveCommands, tell } from './serving.ts'
import { DOMAINS, eventsRequest, FIXED, solveRequest } from './solve.ts'

const watchers = new Set<ServerResponse>()
let seq = 0

const server = createServer((request, response) => {
  if (request.url === '/events') {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' }).flushHeaders()
    watchers.add(response)
    response.once('close', () => watchers.delete(response))
    return
  }
  let text = ''
  request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
  request.once('end', () => {
    const { intent } = JSON.parse(text) as { readonly intent: unknown }
    const answer = JSON.stringify(intent === undefined ? null : FIXED)
    response
      .writeHead(200, {
        'content-type': 'application/json; charset=utf-8',
        'content-length': Buffer.byteLength(answer),
      })
      .end(answer)
  })
})

/** One event for all of them, stamped when it is made. */
function next(): void {
  seq++
  const event = {
    runId: FIXED.executionId,
    seq,
    timestamp: new Date().toISOString(),
    correlationId: FIXED.correlationId,
    sessionId: FIXED.execution.sessionId,
    type: 'step.completed',
    stepId: `step_${seq}`,
    index: seq - 1,
  }
  const frame = `event: ${event.type}\nid: ${seq}\ndata: ${JSON.stringify(event)}\n\n`
  for (const watcher of watchers) watcher.write(frame)
}

serveCommands(() => {
  server.close()
  server.closeAllConnections()
}, next)
const port = await listen(server)
tell({
  ready: {
    requests: {
      answer: solveRequest(port, DOMAINS.block, { path: '/solve' }),
      events: eventsRequest(port, '/events'),
    },
  },
})
