// `parley completion`: a script for a shell, made from the table of commands.
import { command } from '../../command.ts'
import { bashCompletion } from '../../completion/bash.ts'
import { fishCompletion } from '../../completion/fish.ts'
import { completionOf } from '../../completion/words.ts'
import { zshCompletion } from '../../completion/zsh.ts'

const SHELLS = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion } as const

export default command({
  args: [{ name: 'SHELL', summary: 'bash, zsh or fish', choices: Object.keys(SHELLS) }],
  examples: [
    ['source <(parley completion bash)', 'for this shell; put it into ~/.bashrc to keep it'],
    ['parley completion fish > ~/.config/fish/completions/parley.fish', 'for every shell from now on'],
  ],
  async run({ terminal, table }, { words }) {
    terminal.out(SHELLS[words[0] as keyof typeof SHELLS](await completionOf(table)))
  },
})
