// Tells a person who looks elsewhere that something waits or has ended: the bell of the terminal, or its notification
// (notify.bell, notify.terminal). The words are ours alone: nothing that an agent wrote reaches the terminal this way.
import type { Context } from '../command.ts'
import type { NodeClient } from '../node/client.ts'

export type Notify = (text: string) => void

/** Off where the node does not say. */
export async function notifier({ terminal }: Pick<Context, 'terminal'>, api: NodeClient): Promise<Notify> {
  try {
    const { values } = await api.config.show({})
    const set = (key: string) => values.find(each => each.key === key)?.value
    const bell = set('notify.bell') === 'true' ? '\x07' : ''
    const way = set('notify.terminal')
    return text => {
      const note =
        way === 'osc9' ? `\x1b]9;Parley: ${text}\x07` : way === 'osc777' ? `\x1b]777;notify;Parley;${text}\x07` : ''
      if (bell + note !== '') terminal.out(bell + note)
    }
  } catch {
    return () => undefined
  }
}
