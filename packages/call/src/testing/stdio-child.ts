// The child's end of a stdio link, driven by the test that started it: what the transport tells goes to the parent over
// Node's own channel between processes, and what the parent says is done. Prints all the while, as careless programs
// do.
import type { Principal } from '@parley/core'
import { stdioTransport } from '../transport/stdio.ts'

/** From the parent. */
export type ChildCommand =
  | { readonly do: 'start' }
  | { readonly do: 'send'; readonly text: string }
  | { readonly do: 'close'; readonly reason: string | undefined }

/** To the parent. */
export type ChildEvent =
  | {
      readonly told: 'ready'
      readonly kind: string
      readonly maxBody: number
      readonly identity: Principal | undefined
    }
  | { readonly told: 'envelope'; readonly envelope: unknown }
  | { readonly told: 'violation'; readonly kind: string; readonly message: string }
  | { readonly told: 'closed'; readonly reason: string }

export interface ChildSetting {
  readonly identity?: Principal
  readonly maxBody?: number
}

if (process.send) run(JSON.parse(process.argv[2] ?? '{}') as ChildSetting)

function run(setting: ChildSetting): void {
  const tell = (event: ChildEvent) => process.send?.(event)
  const transport = stdioTransport(setting)
  const start = () =>
    transport.start({
      envelope: envelope => {
        console.log('a careless line on standard output')
        tell({ told: 'envelope', envelope })
      },
      violation: ({ kind, message }) => tell({ told: 'violation', kind, message }),
      drain: () => undefined,
      closed: reason => tell({ told: 'closed', reason }),
    })
  process.on('message', (command: ChildCommand) => {
    process.stdout.write('another one')
    if (command.do === 'start') start()
    else if (command.do === 'send') transport.send(command.text)
    else transport.close(command.reason)
  })
  tell({ told: 'ready', kind: transport.kind, maxBody: transport.maxBody, identity: transport.identity })
}
