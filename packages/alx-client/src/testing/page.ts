// The program of a page: a streamed solve, each approval answered, the run to its end. The settings are JSON in the
// fragment of the page's address, so that the page runs against any server; what came of it is the page's title.
import type { RunEvent, SolveCallInput } from '@alx/protocol'
import { AlxError, createAlxClient } from '../index.ts'

export interface PageSettings {
  readonly baseUrl: string
  readonly token?: string
  readonly input: SolveCallInput
}

export interface PageResult {
  readonly evaluates: boolean
  readonly events?: readonly { readonly type: string; readonly seq: number }[]
  readonly approvals?: readonly string[]
  readonly status?: string
  readonly result?: string | null
  readonly error?: string
}

async function solved({ input, ...options }: PageSettings): Promise<Omit<PageResult, 'evaluates'>> {
  const client = createAlxClient(options)
  const events: RunEvent[] = []
  const approvals: string[] = []
  const stream = client.solveStream(input)
  for await (const event of stream) events.push(event)
  let response = await stream.response
  const { executionId } = response
  while (response.execution.status === 'awaiting_approval') {
    const last = events.at(-1)
    if (last?.type !== 'approval.required') throw new Error(`the run waits, but the last event is ${last?.type}`)
    approvals.push(last.approval.reason)
    const { approvalId } = last.approval
    await client.decideApproval(executionId, { approvalId, decision: 'approve' })
    for await (const event of client.watchRun(executionId, { after: last.seq })) {
      events.push(event)
      if (event.type === 'approval.required') break
    }
    response = await client.getRun(executionId)
  }
  const told = events.flatMap(event => ('seq' in event ? [{ type: event.type, seq: event.seq }] : []))
  return { events: told, approvals, status: response.execution.status, result: response.result }
}

function evaluates(): boolean {
  try {
    return Boolean(new Function('return 1')())
  } catch {
    return false
  }
}

try {
  const settings: PageSettings = JSON.parse(decodeURIComponent(location.hash.slice(1)))
  document.title = JSON.stringify({ evaluates: evaluates(), ...(await solved(settings)) } satisfies PageResult)
} catch (error) {
  const code = error instanceof AlxError ? `${error.code}: ` : ''
  document.title = JSON.stringify({ evaluates: evaluates(), error: `${code}${error}` } satisfies PageResult)
}
