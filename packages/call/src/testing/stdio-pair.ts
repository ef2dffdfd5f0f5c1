// The two ends of a stdio link for tests: the left one here, the right one in a child process, driven from here.
// Node.js only.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Principal } from '@parley/core'
import { childTransport } from '../transport/stdio.ts'
import type { Receiver, Transport } from '../transport/transport.ts'
import { type Envelope, ProtocolViolation } from '../wire/envelope.ts'
import type { PairOptions, TransportPair } from './compliance.ts'
import type { ChildCommand, ChildEvent, ChildSetting } from './stdio-child.ts'

export async function stdioPair(options: PairOptions): Promise<TransportPair> {
  const { left: identity, maxBody } = options
  const setting: ChildSetting = { ...(identity && { identity }), ...(maxBody !== undefined && { maxBody }) }
  const program = new URL('./stdio-child.ts', import.meta.url).pathname
  const child = spawn(process.execPath, [...process.execArgv, program, JSON.stringify(setting)], {
    stdio: ['pipe', 'pipe', 'ignore', 'ipc'],
    serialization: 'advanced',
  })
  const left = childTransport(child, undefined, { identity: options.right })
  const [ready] = (await once(child, 'message')) as [ChildEvent & { readonly told: 'ready' }]
  const far = new FarEnd(ready, command => child.connected && child.send(command))
  child.on('message', event => far.heard(event as ChildEvent))
  return {
    left,
    right: far,
    async dispose() {
      if (child.exitCode !== null || child.signalCode !== null) return
      child.kill('SIGKILL')
      await once(child, 'exit')
    },
  }
}

class FarEnd implements Transport {
  readonly kind: string
  readonly identity: Principal | undefined
  readonly maxBody: number
  readonly queued = 0
  readonly #tell: (command: ChildCommand) => void
  #receiver: Receiver | undefined

  constructor(ready: ChildEvent & { readonly told: 'ready' }, tell: (command: ChildCommand) => void) {
    this.kind = ready.kind
    this.identity = ready.identity
    this.maxBody = ready.maxBody
    this.#tell = tell
  }

  start(receiver: Receiver): void {
    this.#receiver = receiver
    this.#tell({ do: 'start' })
  }

  send(text: string): void {
    this.#tell({ do: 'send', text })
  }

  close(reason?: string): void {
    this.#tell({ do: 'close', reason })
  }

  heard(event: ChildEvent): void {
    if (event.told === 'envelope') this.#receiver?.envelope(event.envelope as Envelope)
    else if (event.told === 'closed') this.#receiver?.closed(event.reason)
    else if (event.told === 'violation')
      this.#receiver?.violation(new ProtocolViolation(event.kind as ProtocolViolation['kind'], event.message))
  }
}
