// DBOS Transact, a library that keeps the results of steps in PostgreSQL. The workflow runs in this process.
//
// A step is measured from the call of `DBOS.runStep` until its promise is fulfilled. In between DBOS asks the database
// whether the workflow was cancelled or the step has already run, runs the function, and commits its result. With more
// workflows than connections the wait for a connection is part of it.
import { measureWorkflows, type PeerStart, startPeer, stepResult } from './peer.ts'
import { startPostgres } from './postgres.ts'
import { installedVersion } from './server.ts'

/**
 * The default is 10. In short trials on two cores 20 was some 5 % faster with 64 and 1,000 workflows, and 40 slower
 * than 10.
 */
const CONNECTIONS = 20

export const startDbos: PeerStart = () =>
  startPeer('DBOS Transact', async leftovers => {
    const { DBOS } = await import('@dbos-inc/dbos-sdk')
    const postgres = await startPostgres(leftovers)
    const times: number[] = []
    const workflow = DBOS.registerWorkflow(
      async (steps: number) => {
        for (let step = 1; step <= steps; step++) {
          const began = performance.now()
          await DBOS.runStep(async () => stepResult(step), { name: 'step' })
          times.push(performance.now() - began)
        }
      },
      { name: 'workflow' },
    )
    // Tracing is off by default, and the log of a healthy run is empty at this level. The rest is as DBOS comes.
    DBOS.setConfig({
      name: 'kernel-bench',
      systemDatabaseUrl: postgres.url('dbos'),
      systemDatabasePoolSize: CONNECTIONS,
      logLevel: 'warn',
    })
    const shutdown = () => DBOS.shutdown({ deregister: true })
    try {
      await DBOS.launch()
    } catch (error) {
      await shutdown().catch(() => {})
      throw error
    }
    return {
      version: `${installedVersion('@dbos-inc/dbos-sdk')}, PostgreSQL ${postgres.version}`,
      measure: (concurrency, seconds) => measureWorkflows(concurrency, seconds, times, workflow),
      stop: shutdown,
    }
  })
