// `parley passphrase`: from now on answers need a passphrase, another one, or none.
import { type Context, command } from '../command.ts'
import { askPassphrase } from '../confirm.ts'
import { EXIT } from '../exit.ts'
import { asFailure, Failure } from '../failure.ts'
import { print } from '../output.ts'

export const passphrase = command({
  name: 'passphrase',
  summary: 'Set the passphrase that your answers need, or take it away',
  about:
    'Approve, reject, modify and reply then ask for it. config.yaml keeps a salted hash (gates.confirm). It is typed without being shown, or read from standard input, never given as an argument.',
  args: [],
  flags: {
    off: { type: 'boolean', summary: 'Answers need none any more' },
    stdin: {
      type: 'boolean',
      summary:
        'Read it from standard input: the one that is set, if one is, on a line of its own, then the new one',
    },
  },
  examples: [
    ['parley passphrase', 'typed twice'],
    ['parley passphrase --off', 'the one that is set is asked for'],
    ['pass show parley | parley passphrase --stdin', 'from a password manager'],
  ],
  async run(context, { flags }) {
    const api = await context.connect()
    const { next, present } = flags.stdin
      ? fromInput(await context.terminal.input(), flags.off)
      : { next: flags.off ? undefined : await askTwice(context), present: undefined }
    const set = async (known: string | undefined) => api.setPassphrase(next, known)
    const { required } = await set(present).catch(async (thrown: unknown) => {
      const { interactive } = context.terminal
      const wanted = interactive && !flags.stdin && asFailure(thrown).code === 'passphrase_required'
      if (!wanted) throw thrown
      return set(await askPassphrase(context.terminal, 'The passphrase that is set: '))
    })
    print(context, { required }, () => [
      required ? 'From now on your answers need this passphrase.' : 'Your answers need no passphrase.',
    ])
    return EXIT.done
  },
})

async function askTwice({ terminal, global }: Context): Promise<string> {
  if (!terminal.interactive || global.json) {
    throw new Failure('usage', 'Nobody is there to type a passphrase.', {
      why: 'This is no terminal.',
      next: 'parley passphrase --stdin < FILE',
    })
  }
  const first = await askPassphrase(terminal, 'New passphrase: ')
  if (first === (await askPassphrase(terminal, 'Once more: '))) return first
  throw new Failure('usage', 'The two are not the same. Nothing was changed.', { next: 'parley passphrase' })
}

function fromInput(text: string, off: boolean): { next: string | undefined; present: string | undefined } {
  const lines = text.split(/\r?\n/)
  if (lines.at(-1) === '') lines.pop()
  const [first, second, ...more] = lines
  if (first === undefined || more.length > 0 || (off && second !== undefined)) {
    throw new Failure('usage', 'Standard input has not the lines that are needed.', {
      why: 'With --off: the passphrase that is set. Otherwise the new one; if one is set, that one on the line before it.',
      next: 'parley passphrase --stdin < FILE',
    })
  }
  if (off) return { next: undefined, present: first }
  return second === undefined ? { next: first, present: undefined } : { next: second, present: first }
}
