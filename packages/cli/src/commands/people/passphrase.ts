// `parley passphrase`: sets, changes or removes the passphrase that answers require.
import { type Context, command } from '../../command.ts'
import { asFailure, Failure } from '../../failure.ts'
import { askPassphrase } from '../../node/confirm.ts'
import { print } from '../../output.ts'

export default command({
  about:
    'Approve, reject, modify and reply then ask for it. config.yaml holds a salted hash (gates.confirm). It is typed without echo or read from standard input, never passed as an argument.',
  flags: {
    off: { summary: 'Answers no longer require one' },
    stdin: {
      summary: 'Read it from standard input: the current one, if there is one, on its own line, then the new one',
    },
  },
  examples: [
    ['parley passphrase', 'typed twice'],
    ['parley passphrase --off', 'asks for the current one'],
    ['pass show parley | parley passphrase --stdin', 'from a password manager'],
  ],
  async run(context, { flags }) {
    const api = await context.connect()
    const { next, present } = flags.stdin
      ? fromInput(await context.terminal.input(), flags.off)
      : { next: flags.off ? undefined : await askTwice(context), present: undefined }
    const set = (known: string | undefined) => api.gates.passphrase({ passphrase: next, present: known })
    const { required } = await set(present).catch(async (thrown: unknown) => {
      const { interactive } = context.terminal
      const wanted = interactive && !flags.stdin && asFailure(thrown).code === 'passphrase_required'
      if (!wanted) throw thrown
      return set(await askPassphrase(context.terminal, 'Current passphrase: '))
    })
    print(context, { required }, () => [
      required ? 'From now on your answers require this passphrase.' : 'Your answers do not require a passphrase.',
    ])
  },
})

async function askTwice({ terminal, global }: Context): Promise<string> {
  if (!terminal.interactive || global.json) {
    throw new Failure('usage', 'Nobody is there to type a passphrase.', {
      why: 'This is not a terminal.',
      next: 'parley passphrase --stdin < FILE',
    })
  }
  const first = await askPassphrase(terminal, 'New passphrase (8 to 1024 characters): ')
  if (first === (await askPassphrase(terminal, 'Repeat it: '))) return first
  throw new Failure('usage', 'The two do not match. Nothing was changed.', { next: 'parley passphrase' })
}

function fromInput(text: string, off: boolean): { next: string | undefined; present: string | undefined } {
  const lines = text.split(/\r?\n/)
  if (lines.at(-1) === '') lines.pop()
  const [first, second, ...more] = lines
  if (first === undefined || more.length > 0 || (off && second !== undefined)) {
    throw new Failure('usage', 'Standard input does not have the expected lines.', {
      why: 'With --off: the current passphrase. Otherwise the new one, preceded by a line with the current one if one is set.',
      next: 'parley passphrase --stdin < FILE',
    })
  }
  if (off) return { next: undefined, present: first }
  return second === undefined ? { next: first, present: undefined } : { next: second, present: first }
}
