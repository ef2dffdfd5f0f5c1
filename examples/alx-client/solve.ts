// Solves an intent over ALX and says what happens meanwhile:
//   ALX_URL=http://127.0.0.1:7424/alx ALX_TOKEN=parley_… node solve.ts VERB TARGET DOMAIN
import { AlxError, createAlxClient } from '@parley/alx-client'

const [verb, target, domain] = process.argv.slice(2)
const { ALX_URL: baseUrl = 'http://127.0.0.1:7424/alx', ALX_TOKEN: token } = process.env
if (!verb || !target || !domain || !token) {
  console.error('usage: ALX_TOKEN=parley_… node solve.ts VERB TARGET DOMAIN')
  process.exit(2)
}

const client = createAlxClient({ baseUrl, token })
const stream = client.solveStream({ intent: { verb, target, domain } })
try {
  for await (const event of stream) {
    const about = 'stepId' in event && event.stepId ? ` ${event.stepId}` : ''
    console.log(`${event.type}${about}`)
  }
  const { executionId, execution, result } = await stream.response
  if (execution?.status === 'awaiting_approval') console.log(`${executionId} waits for a person: parley inbox`)
  else console.log(`\n${result}`)
} catch (error) {
  if (!(error instanceof AlxError)) throw error
  console.error(`${error.code}: ${error.message} ${error.suggestion ?? ''}`)
  process.exitCode = 1
}
