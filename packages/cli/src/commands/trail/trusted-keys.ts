// Public keys and heads as the commands that verify take them.
import { resolve } from 'node:path'
import type { FlagValues } from '../../command.ts'
import { Failure } from '../../failure.ts'
import { cliLimits } from '../../limits.ts'
import type { HeadView } from '../../node/views.ts'
import { readSmallFile } from '../words.ts'

export const KEY_FLAGS = {
  key: {
    value: 'BASE64',
    many: true,
    summary: "A public key that you trust: any current or former key of the record's author; may be repeated",
  },
  'key-file': {
    value: 'FILE',
    many: true,
    complete: 'file',
    summary: 'A file with such keys: an alp_key.pub, or one key per line; may be repeated',
  },
} as const

export type KeyValues = FlagValues<typeof KEY_FLAGS>

export async function keysOf(values: KeyValues, cwd: string): Promise<readonly string[]> {
  const texts = [...values.key, ...values['key-file'].map(file => readKeyFile(resolve(cwd, file)))]
  if (texts.length === 0) return []
  const { parsePublicKeys } = await import('@parley/node')
  return texts.flatMap(text => {
    const keys = parsePublicKeys(text)
    if (keys.ok) return keys.value
    throw new Failure('usage', keys.error.message)
  })
}

function readKeyFile(file: string): string {
  return readSmallFile(file, 'Name a file with public keys, or give one with --key.', ({ size }) => {
    if (size > cliLimits.keyFileBytes) throw new Failure('file_unreadable', `${file} is too large for a file of keys.`)
  })
}

/** `RUN:SEQ:HASH`, as `parley trail heads` prints it. */
export function headOf(text: string): HeadView {
  const [, run, seq, hash] = /^(.{1,64}):(\d{1,10}):([0-9a-f]{64})$/.exec(text.trim()) ?? []
  if (run === undefined || seq === undefined || hash === undefined || Number(seq) < 1) {
    throw new Failure('usage', `--expect-head '${text.slice(0, 120)}' is not a head.`, {
      why: 'A head is RUN:SEQ:HASH: the full id of a run, the number of an entry and its hash.',
      next: '`parley trail heads` prints heads in this form.',
    })
  }
  return { run, seq: Number(seq), hash }
}
