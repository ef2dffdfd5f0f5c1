// A2A: `SendMessage` over JSON-RPC as the official SDK serves it, on Express. `task`: the agent completes a task with
// one artifact at once, and the store in memory keeps it. `message`: it answers with a bare message, which nothing
// keeps.
import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import { A2A_PROTOCOL_VERSION, type AgentCard, type Message, Role, TaskState } from '@a2a-js/sdk'
import { ClientFactory, JsonRpcTransportFactory } from '@a2a-js/sdk/client'
import {
  AgentEvent,
  type AgentExecutor,
  DefaultRequestHandler,
  InMemoryTaskStore,
  type RequestContext,
} from '@a2a-js/sdk/server'
import { jsonRpcHandler, UserBuilder } from '@a2a-js/sdk/server/express'
import express from 'express'
import { Capture, listen, serveCommands, tell } from '../alx/serving.ts'
import { INTENT } from '../alx/solve.ts'
import { installedVersion } from '../kernel-peers/server.ts'

const ANSWERS = { task: 'TASK_STATE_COMPLETED', message: 'ROLE_AGENT' } as const
const answer = process.argv[2] === 'message' ? 'message' : 'task'

const part = (text: string) => ({
  content: { $case: 'text' as const, value: text },
  metadata: undefined,
  filename: '',
  mediaType: 'text/plain',
})

function message(role: Role, text: string, ids: Partial<Pick<Message, 'contextId' | 'taskId'>> = {}): Message {
  return {
    messageId: randomUUID(),
    contextId: '',
    taskId: '',
    role,
    parts: [part(text)],
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
    ...ids,
  }
}

/** A task needs no events on its way: it is published once, completed. */
function completed({ taskId, contextId, userMessage }: RequestContext) {
  return AgentEvent.task({
    id: taskId,
    contextId,
    status: { state: TaskState.TASK_STATE_COMPLETED, timestamp: new Date().toISOString(), message: undefined },
    artifacts: [
      {
        artifactId: randomUUID(),
        name: 'Result',
        description: '',
        parts: [part('Done.')],
        metadata: undefined,
        extensions: [],
      },
    ],
    history: [userMessage],
    metadata: undefined,
  })
}

const executor: AgentExecutor = {
  async execute(context, bus) {
    bus.publish(
      answer === 'task'
        ? completed(context)
        : AgentEvent.message(message(Role.ROLE_AGENT, 'Done.', { contextId: context.contextId })),
    )
    bus.finished()
  },
  async cancelTask() {},
}

const app = express()
const server = createServer(app)
const port = await listen(server)
const url = `http://127.0.0.1:${port}/a2a`
const card: AgentCard = {
  name: 'bench',
  description: 'Does nothing.',
  supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', tenant: '', protocolVersion: A2A_PROTOCOL_VERSION }],
  provider: undefined,
  version: '1.0.0',
  capabilities: { streaming: false, pushNotifications: false, extensions: [], extendedAgentCard: false },
  securitySchemes: {},
  securityRequirements: [],
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [],
  signatures: [],
}
app.use(
  '/a2a',
  jsonRpcHandler({
    requestHandler: new DefaultRequestHandler(card, new InMemoryTaskStore(), executor),
    userBuilder: UserBuilder.noAuthentication,
  }),
)
serveCommands(() => {
  server.close()
  server.closeAllConnections()
})

const capture = new Capture()
capture.watch(server)
const factory = new ClientFactory({ transports: [new JsonRpcTransportFactory({ fetchImpl: capture.fetch })] })
const client = await factory.createFromAgentCard(card)
await client.sendMessage({
  tenant: '',
  message: message(Role.ROLE_USER, `${INTENT.verb} ${INTENT.target}`),
  configuration: undefined,
  metadata: undefined,
})
tell({
  ready: {
    version: installedVersion('@a2a-js/sdk'),
    requests: { answer: capture.shape(port, { id: 'number', messageId: 'uuid' }, ANSWERS[answer]) },
  },
})
