// `parley trail export`: the record of a run as one file, or as lines of JSON.
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { type Context, command } from '../../command.ts'
import { Failure } from '../../failure.ts'
import type { Output } from '../../node/client.ts'
import { print, remark } from '../../output.ts'
import { bytes } from '../../render/format.ts'
import { runHere } from '../which-run.ts'
import { RUN } from '../words.ts'
import { fileExists, writeNewFile } from './new-file.ts'

export default command({
  about:
    'The file holds every entry with its hash and signature, the content that entries refer to, the head and the public keys: anyone with your public key can verify it without a node (`parley trail verify --file`). It includes what agents and people wrote, unless --no-content is given. `--format jsonl` writes lines of JSON instead: a first line with run, head, count and key, then each entry in its canonical form, whose SHA-256 is its hash.',
  args: [RUN],
  flags: {
    output: {
      value: 'FILE',
      short: 'o',
      complete: 'file',
      summary: 'A new file, usually with the extension .parley (default: standard output)',
    },
    format: { value: 'FORMAT', choices: ['file', 'jsonl'], summary: 'file (default) or jsonl' },
    'no-content': { summary: 'Leave out the content that entries refer to; the record alone can still be verified' },
    decrypt: { summary: 'Open content that the profile keeps sealed; anyone with the file can read it' },
    'up-to': { value: 'SEQ', whole: true, summary: 'Up to and including this entry (default: the newest)' },
  },
  examples: [
    ['parley trail export last --output run.parley', 'to a file, which must not exist yet'],
    ['parley trail export run_k3f9qz --no-content -o run.parley', 'the record without texts and results'],
    ['parley trail export --format jsonl | jq .event_type', 'for programs'],
  ],
  async run(context, { flags, words }) {
    const run = await runHere(context, words[0])
    const lines = flags.format === 'jsonl'
    if (lines && (flags['no-content'] || flags.decrypt || flags['up-to'] !== undefined)) {
      throw new Failure('usage', '--no-content, --decrypt and --up-to apply only to --format file.', {
        why: 'Lines of JSON hold the entries of the whole run, without content.',
        next: 'Leave them out, or leave out --format jsonl.',
      })
    }
    if (flags['no-content'] && flags.decrypt)
      throw new Failure('usage', '--no-content leaves out what --decrypt would open.', {
        next: 'Give one of them.',
      })
    if (!lines && flags.output === undefined && context.terminal.seen) throw notHere(run)
    const file = flags.output === undefined ? undefined : resolve(context.cwd, flags.output)
    if (file !== undefined && existsSync(file)) throw fileExists(file)
    const content = flags['no-content'] ? 'none' : flags.decrypt ? 'opened' : 'stored'
    const pieces = lines
      ? ended(context.api.streams.trail.export({ run }))
      : packed(context.api.streams.trail.pack({ run, content, up_to: flags['up-to'] }))
    await (file === undefined ? pipe(context, pieces) : keep(context, file, pieces, lines))
  },
})

function notHere(run: string): Failure {
  return new Failure('usage', 'The record of a run is a binary file, not text for a terminal.', {
    next: [
      `\`parley trail export ${run} --output run.parley\` writes it.`,
      `\`parley trail export ${run} --format jsonl\` prints its entries as lines of JSON; \`parley trail query ${run}\` shows them for people.`,
    ],
  })
}

async function* ended(pages: AsyncIterable<Output<'/trail/export'>>): AsyncIterable<string> {
  for await (const { lines } of pages) yield lines.map(line => `${line}\n`).join('')
}

async function* packed(pieces: AsyncIterable<Output<'/trail/pack'>>): AsyncIterable<Uint8Array> {
  for await (const { data } of pieces) yield Buffer.from(data, 'base64')
}

async function pipe({ terminal }: Context, pieces: AsyncIterable<string | Uint8Array>): Promise<void> {
  for await (const piece of pieces) {
    terminal.out(piece)
    await terminal.drained()
  }
}

async function keep(
  context: Context,
  file: string,
  pieces: AsyncIterable<string | Uint8Array>,
  lines: boolean,
): Promise<void> {
  const written = await writeNewFile(file, pieces)
  print(context, { file, bytes: written, format: lines ? 'jsonl' : 'file' }, () => [`${file}: ${bytes(written)}`])
  if (lines) return
  remark(
    context,
    `Anyone who gets it can verify it with \`parley trail verify --file\` and your public key (\`parley trail keys\`).`,
  )
}
