// Restate, a server that keeps the journal of each workflow and calls its code over HTTP/2. The server comes from its
// npm package; this process serves the code and starts the workflows through the server's ingress, over HTTP/1.1 as its
// client library does.
//
// A step is measured from the call of `context.run` until its promise is fulfilled. In between the SDK runs the
// function and proposes its result on the open stream, and the server acknowledges it once it is synced in its log. A
// step that is replayed does not run its function again and is not measured; no workflow waits long enough to be
// suspended and replayed, so all are.
import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { createServer, type ServerHttp2Session } from 'node:http2'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import type { WorkflowContext } from '@restatedev/restate-sdk'
import type { Leftovers } from './leftovers.ts'
import { measureWorkflows, type PeerStart, startPeer, stepResult } from './peer.ts'
import { freePorts, installedVersion, startServer, temporaryFolder, until } from './server.ts'

/**
 * The default of 24 is for machines with many cores. On two, one partition took twice as many steps per second with 64
 * workflows, a third more with 1,000, and as many with one; its appends share their syncs.
 */
const PARTITIONS = Math.max(1, Math.floor(availableParallelism() / 2))

export const startRestate: PeerStart = () =>
  startPeer('Restate', async leftovers => {
    const restate = await import('@restatedev/restate-sdk')
    const { connect } = await import('@restatedev/restate-sdk-clients')
    const times: number[] = []
    const workflow = restate.workflow({
      name: 'kernel-bench',
      handlers: {
        async run(context: WorkflowContext, steps: number) {
          for (let step = 1; step <= steps; step++) {
            let ran = false
            const began = performance.now()
            await context.run('step', () => {
              ran = true
              return stepResult(step)
            })
            if (ran) times.push(performance.now() - began)
          }
        },
      },
    })
    const handler = restate.createEndpointHandler({
      services: [workflow],
      logger: ({ level }, ...message) => {
        if (level === 'error') console.error('Restate:', ...message)
      },
    })
    const port = await serve(leftovers, handler)
    const { admin, ingress } = await startRestateServer(leftovers)
    const answer = await fetch(new URL('deployments', admin), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ uri: `http://127.0.0.1:${port}/` }),
    })
    if (!answer.ok) throw new Error(`the workflow could not be registered: ${await answer.text()}`)
    await until(async () => (await health(ingress, 'restate/health')).includes(workflow.name))
    const client = connect({ url: ingress })
    return {
      version: `${installedVersion('@restatedev/restate-server')}, SDK ${installedVersion('@restatedev/restate-sdk')}`,
      // The client for workflows submits and attaches in two requests; one request is enough to start one and wait for
      // its end.
      measure: (concurrency, seconds) =>
        measureWorkflows(concurrency, seconds, times, steps =>
          client.call({ service: workflow.name, key: randomUUID(), handler: 'run', parameter: steps }),
        ),
    }
  })

async function serve(leftovers: Leftovers, handler: Parameters<typeof createServer>[1]): Promise<number> {
  const server = createServer(handler)
  const sessions = new Set<ServerHttp2Session>()
  server.on('session', session => {
    sessions.add(session)
    session.once('close', () => sessions.delete(session))
  })
  leftovers.add(() => {
    server.close()
    for (const session of sessions) session.destroy()
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(0, '127.0.0.1', resolve)
  })
  return (server.address() as AddressInfo).port
}

/** Durability is as it comes: every append to the log is synced. Apart from the partitions nothing is tuned. */
async function startRestateServer(leftovers: Leftovers): Promise<{ admin: string; ingress: string }> {
  const program = createRequire(import.meta.url).resolve(
    `@restatedev/restate-server-${process.platform}-${process.arch}/bin/restate-server`,
  )
  const folder = temporaryFolder(leftovers)
  const [node, admin, ingress] = (await freePorts(3)).map(port => `127.0.0.1:${port}`)
  const settings = join(folder, 'restate.toml')
  // The server asks GitHub once for a newer version and has no setting against it; octocrab is what would complain
  // without a network.
  writeFileSync(
    settings,
    `base-dir = '${join(folder, 'data')}'
node-name = 'bench'
default-num-partitions = ${PARTITIONS}
listen-mode = 'tcp'
bind-address = '${node}'
advertised-address = 'http://${node}/'
disable-telemetry = true
log-filter = 'warn,octocrab=off'
log-disable-ansi-codes = true
[admin]
bind-address = '${admin}'
[ingress]
bind-address = '${ingress}'
`,
  )
  const urls = { admin: `http://${admin}`, ingress: `http://${ingress}` }
  await startServer(
    leftovers,
    program,
    ['--config-file', settings],
    // Its settings can come from the environment too, and none of them should.
    { cwd: folder, env: {} },
    server => server.kill('SIGKILL'),
    async () => (await health(urls.admin, 'health')) !== '' && (await health(urls.ingress, 'restate/health')) !== '',
  )
  return urls
}

/** Empty when the server is not healthy, or not there. */
async function health(url: string, path: string): Promise<string> {
  try {
    const answer = await fetch(new URL(path, url), { signal: AbortSignal.timeout(1000) })
    const text = await answer.text()
    return answer.ok ? text || answer.statusText || 'OK' : ''
  } catch {
    return ''
  }
}
