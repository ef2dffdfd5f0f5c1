// Fastify, bare: it parses the body and answers the fixed JSON, without a schema for either.
import Fastify from 'fastify'
import { serveCommands, tell } from '../alx/serving.ts'
import { DOMAINS, FIXED, solveRequest } from '../alx/solve.ts'
import { installedVersion } from '../kernel-peers/server.ts'

const app = Fastify()
app.post('/solve', async () => FIXED)
serveCommands(() => app.close())
await app.listen({ port: 0, host: '127.0.0.1' })
const [address] = app.addresses()
tell({
  ready: {
    version: installedVersion('fastify'),
    requests: { answer: solveRequest(address!.port, DOMAINS.block, { path: '/solve' }) },
  },
})
