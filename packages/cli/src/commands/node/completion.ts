// `parley completion`: a script for a shell, made from the table of commands; and the words that the script asks for.
import { type Context, command } from '../../command.ts'
import { bashCompletion } from '../../completion/bash.ts'
import { fishCompletion } from '../../completion/fish.ts'
import { completionOf, OFFERS, type Offer } from '../../completion/words.ts'
import { zshCompletion } from '../../completion/zsh.ts'
import { wrongUsage } from '../../failure.ts'
import { cliLimits } from '../../limits.ts'
import type { NodeClient } from '../../node/client.ts'
import { shortIds } from '../../render/format.ts'
import { runHere } from '../which-run.ts'

const SHELLS = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion } as const

export default command({
  args: [{ name: 'SHELL', summary: 'bash, zsh or fish', choices: Object.keys(SHELLS), optional: true }],
  flags: {
    offer: { value: 'KIND', summary: 'Print the words of this kind; the scripts ask for them', choices: [...OFFERS] },
  },
  examples: [
    ['source <(parley completion bash)', 'for this shell; put it into ~/.bashrc to keep it'],
    ['parley completion fish > ~/.config/fish/completions/parley.fish', 'for every shell from now on'],
  ],
  async run(context, { flags, words: [shell] }) {
    const { terminal, table } = context
    if (flags.offer !== undefined) {
      const found = await offered(context, flags.offer as Offer).catch(() => [])
      // A shell may evaluate what it offers.
      terminal.out(
        found
          .filter(each => /^[\w.:-]+$/.test(each))
          .map(each => `${each}\n`)
          .join(''),
      )
      return
    }
    if (shell === undefined) throw wrongUsage('SHELL is missing: bash, zsh or fish.', 'parley completion SHELL')
    terminal.out(SHELLS[shell as keyof typeof SHELLS](await completionOf(table)))
  },
})

/** Nobody waits long for a completion: no node is started, and none that is slow is waited for. */
async function offered(context: Context, kind: Offer): Promise<readonly string[]> {
  if (kind === 'agents') {
    const [{ nearestTeam }, { readyHere }] = await Promise.all([import('../solve/solve.ts'), import('@parley/node')])
    const near = await nearestTeam(context).catch(() => undefined)
    const ready = readyHere({ path: context.env.PATH ?? '', pinned: () => false, functions: {} })
    return [...new Set([...Object.keys(near?.team.agents ?? {}), ...ready])]
  }
  const api = await context.connect({ start: false, anyVersion: true })
  return idsOf(api, context, kind)
}

async function idsOf(api: NodeClient, { cwd }: Context, kind: Exclude<Offer, 'agents'>): Promise<readonly string[]> {
  const soon = { timeout: cliLimits.completionMs }
  switch (kind) {
    case 'runs':
      return shortened((await api.runs.list({ limit: cliLimits.runs, folder: cwd }, soon)).runs.map(({ run }) => run))
    case 'waiting': {
      const { gates } = await api.gates.list({}, soon)
      return shortened([...new Set(gates.flatMap(({ id, run }) => [id, run]))])
    }
    case 'tasks':
      return (await api.tasks.list({ run: await runHere({ api, cwd }) }, soon)).tasks.map(({ id }) => id)
  }
}

function shortened(ids: readonly string[]): readonly string[] {
  return ids.map(shortIds(ids))
}
