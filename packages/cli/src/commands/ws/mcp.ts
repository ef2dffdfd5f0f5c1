// `parley mcp`: the verbs of an agent's turn as MCP tools, for programs that start an MCP server over stdio.
import { command } from '../../command.ts'
import { EXIT } from '../../exit.ts'
import { Failure } from '../../failure.ts'
import { nodeClient } from '../../node/client.ts'

export default command({
  about:
    'A program that is an agent starts this as an MCP server; the presets arrange that. It serves one turn, and ends with it or with its input. FILE is the private file of the turn, which has the way to the token and to the node; without --turn the variables of `parley ws` are used.',
  flags: { turn: { value: 'FILE', summary: 'The private file of the turn', complete: 'file' } },
  examples: [
    ['parley mcp --turn FILE', 'as the command of an MCP server'],
    ['parley mcp', 'the same for a program that passes its environment on'],
  ],
  async run({ env, clock, terminal }, { flags: { turn } }) {
    const { turnVariables } = await import('../../mcp/turn-file.ts')
    const variables = turn === undefined ? env : { ...env, ...turnVariables(turn) }
    const file = variables.PARLEY_TOKEN_FILE
    if (!file)
      throw new Failure('no_workspace', 'No turn is named.', {
        why: 'This serves the agent of a turn: PARLEY_TOKEN_FILE is not set, and there is no --turn.',
        next: 'Start it from an agent; `parley help mcp` has examples.',
      })
    const { inside } = await import('../../node/connect.ts')
    const calls = await inside(file, { env: variables, clock })
    try {
      // Loaded here, so that no other command reads it.
      const { serveTurn } = await import('../../mcp/server.ts')
      await serveTurn(nodeClient(calls), terminal.pipes())
      return EXIT.done
    } finally {
      calls.close()
    }
  },
})
