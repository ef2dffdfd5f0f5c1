// `parley trail export`: the record of a run as lines that can be verified elsewhere.

import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { resolve } from 'node:path'
import { type Context, command } from '../command.ts'
import { EXIT } from '../exit.ts'
import { Failure } from '../failure.ts'
import { remark } from '../output.ts'
import { LAST, RUN } from './words.ts'

export const trailExport = command({
  name: 'trail export',
  summary: 'Write the record of a run as lines of JSON',
  about:
    'The first line names the run, its head, the number of entries and the public key. Each further line is an entry in its canonical form, whose SHA-256 is its hash.',
  args: [RUN],
  flags: {
    output: {
      type: 'text',
      value: 'FILE',
      complete: 'file',
      summary: 'A new file (default: standard output)',
    },
  },
  examples: [
    ['parley trail export last --output run.jsonl', 'into a file, which must not exist yet'],
    ['parley trail export run_01m7 | gzip > run.jsonl.gz', 'into a pipe'],
  ],
  async run(context, { flags, words }) {
    const api = await context.connect()
    const lines = api.exportTrail(words[0] ?? LAST)
    if (flags.output === undefined) {
      for await (const line of lines) {
        context.terminal.out(`${line}\n`)
        await context.terminal.drained()
      }
    } else {
      const file = resolve(context.cwd, flags.output)
      const count = await writeNew(context, file, lines)
      remark(context, `${file}: ${Math.max(0, count - 1)} entries`)
    }
    return EXIT.done
  },
})

async function writeNew({ terminal }: Context, file: string, lines: AsyncIterable<string>): Promise<number> {
  // Never over something that is there: a record is not replaced by accident.
  const stream = createWriteStream(file, { flags: 'wx', mode: 0o600 })
  let count = 0
  try {
    await once(stream, 'open')
    for await (const line of lines) {
      if (!stream.write(`${line}\n`)) await once(stream, 'drain')
      count++
    }
    stream.end()
    await once(stream, 'close')
    return count
  } catch (thrown) {
    stream.destroy()
    await terminal.drained()
    const { code } = thrown as NodeJS.ErrnoException
    if (code === 'EEXIST') {
      throw new Failure('file_exists', `${file} is there already.`, {
        why: 'An export never writes over a file.',
        next: 'Choose another name with --output.',
        details: { file },
      })
    }
    if (typeof code === 'string' && /^E[A-Z]+$/.test(code)) {
      throw new Failure('file_unwritable', `${file} cannot be written.`, {
        why: `The system says ${code}.`,
        next: 'Choose another place with --output.',
        details: { file },
        cause: thrown,
      })
    }
    throw thrown
  }
}
