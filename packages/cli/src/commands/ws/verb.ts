// One verb of an agent's turn as a command: what `parley mcp` offers as a tool of the same name.
import { type Argument, type Command, command, type FlagTable, type Input } from '../../command.ts'
import type { Input as Given } from '../../node/client.ts'
import { print } from '../../output.ts'
import { type Verb, type VerbAnswer, verbLines } from '../../render/verbs.ts'

interface VerbCommand<Name extends Verb, F extends FlagTable> {
  readonly args?: readonly Argument[]
  readonly flags?: F
  readonly examples: readonly (readonly [command: string, what: string])[]
  readonly input: (given: Input<F>) => Given<`/workspaces/${Name}`>
  /** Milliseconds, where the answer may take long. */
  readonly timeout?: (given: Input<F>) => number
}

type Call<Answer> = (given: unknown, options: object | undefined) => Promise<Answer>

export function verbCommand<const Name extends Verb, const F extends FlagTable = Record<never, never>>(
  verb: Name,
  { input, timeout, ...spec }: VerbCommand<Name, F>,
): Command {
  return command<F>({
    ...spec,
    async run(context, given) {
      const options = timeout && { timeout: timeout(given) }
      const call = context.api.workspaces[verb] as unknown as Call<VerbAnswer<Name>>
      const answer = await call(input(given), options)
      print(context, answer, () => verbLines[verb](answer, other => `parley ws ${other}`))
    },
  })
}
