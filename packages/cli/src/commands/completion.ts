// `parley completion`: a script for a shell, made from the table of commands.
import type { Table } from '../args.ts'
import { command } from '../command.ts'
import { bashCompletion } from '../completion/bash.ts'
import { fishCompletion } from '../completion/fish.ts'
import { zshCompletion } from '../completion/zsh.ts'
import { EXIT } from '../exit.ts'

const SHELLS = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion } as const

/** `table` is asked for late: this command is in it. */
export const completion = (table: () => Table) =>
  command({
    name: 'completion',
    summary: 'Print completion for a shell',
    args: [{ name: 'SHELL', summary: 'bash, zsh or fish', choices: Object.keys(SHELLS) }],
    flags: {},
    examples: [
      ['source <(parley completion bash)', 'for this shell; put it into ~/.bashrc to keep it'],
      ['parley completion fish > ~/.config/fish/completions/parley.fish', 'for every shell from now on'],
    ],
    async run({ terminal }, { words }) {
      terminal.out(SHELLS[words[0] as keyof typeof SHELLS](table()))
      return EXIT.done
    },
  })
