// MCP: `tools/call` over streamable HTTP as the official SDK serves it without state: `createMcpHandler` makes a server
// for each request, `toNodeHandler` puts it on `node:http`, which is the leanest of the documented ways. `modern`: a
// client that negotiates the revision 2026-07-28. `legacy`: a client as it comes, which speaks 2025-11-25.
import { createServer } from 'node:http'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { localhostHostValidation, localhostOriginValidation, toNodeHandler } from '@modelcontextprotocol/node'
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { Capture, listen, serveCommands, tell } from '../alx/serving.ts'
import { INTENT } from '../alx/solve.ts'
import { installedVersion } from '../kernel-peers/server.ts'

const mode = process.argv[2] === 'legacy' ? 'legacy' : 'auto'

// Made once, where the documentation makes it for each request: that is faster.
const inputSchema = z.object({ verb: z.string(), target: z.string() })
const handler = createMcpHandler(() => {
  const server = new McpServer({ name: 'bench', version: '1.0.0' })
  server.registerTool('solve', { description: 'Does nothing.', inputSchema }, async () => ({
    content: [{ type: 'text', text: 'Done.' }],
  }))
  return server
})
const serve = toNodeHandler(handler)
const hostIsGood = localhostHostValidation()
const originIsGood = localhostOriginValidation()
const server = createServer((request, response) => {
  if (hostIsGood(request, response) && originIsGood(request, response)) void serve(request, response)
})
const port = await listen(server)
serveCommands(async () => {
  await handler.close()
  server.close()
  server.closeAllConnections()
})

const capture = new Capture()
const client = new Client({ name: 'bench', version: '1.0.0' }, { versionNegotiation: { mode } })
await client.connect(
  new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${port}/mcp`), { fetch: capture.fetch }),
)
capture.watch(server)
await client.callTool({ name: 'solve', arguments: { ...INTENT } })
const shape = capture.shape(port, { id: 'number' }, 'Done.')
await client.close()
tell({ ready: { version: installedVersion('@modelcontextprotocol/server'), requests: { answer: shape } } })
