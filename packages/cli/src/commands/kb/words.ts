// What the commands about Knowledge Blocks share.
import { type Context, command } from '../../command.ts'
import type { Output } from '../../node/client.ts'
import { print } from '../../output.ts'
import { table } from '../../render/grid.ts'
import type { Drawing } from '../../render/tasks.ts'
import { oneLine } from '../../render/text.ts'

export type BlockView = Output<'/knowledge/list'>['blocks'][number]

export const BLOCK = { name: 'HASH', summary: 'The hash of a block, or a unique beginning of it' } as const

/** Enough of a hash to find its block again. */
const SHOWN = 14

export function blocksTable(blocks: readonly BlockView[], drawing: Drawing): readonly string[] {
  return table(
    blocks,
    [
      { header: 'BLOCK', of: ({ kbHash }) => kbHash.slice(0, SHOWN) },
      { header: 'TYPE', of: ({ type }) => oneLine(type) },
      { header: 'DOMAIN', flexible: true, of: ({ domain }) => oneLine(domain) },
      { header: 'STATUS', of: ({ status }) => ({ text: status, tone: status === 'active' ? 'good' : 'warning' }) },
      { header: 'READERS', optional: 2, of: readersOf },
      { header: 'RUNS', optional: 3, of: ({ trusted, made }) => (trusted ? 'trusted' : made ? 'made here' : '') },
      { header: 'CURATOR', optional: 1, of: ({ curator }) => oneLine(curator) },
      { header: 'SINCE', optional: 4, of: ({ createdAt }) => createdAt.slice(0, 16).replace('T', ' ') },
    ],
    drawing,
  )
}

export function readersOf({ tier, shared }: BlockView): string {
  return tier !== 'restricted' ? 'all' : shared ? 'all (shared)' : 'its own'
}

export function blockLine({ kbHash, type, domain }: BlockView): string {
  return `${kbHash} (${oneLine(type)}, ${oneLine(domain)})`
}

/** A command that says something about one block. */
export function blockAct(
  about: string,
  examples: readonly (readonly [string, string])[],
  act: (context: Context, given: { readonly block: string; readonly reason: string | undefined }) => Promise<BlockView>,
  said: string,
) {
  return command({
    about,
    args: [BLOCK],
    flags: { reason: { value: 'TEXT', summary: 'Why; it is on record' } },
    examples,
    async run(context, { flags, words }) {
      const block = await act(context, { block: words[0]!, reason: flags.reason })
      print(context, { block }, () => [`${blockLine(block)} ${said}`])
    },
  })
}
