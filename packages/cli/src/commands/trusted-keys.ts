// Public keys and heads as they are given to commands that verify.
import { readFileSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { Failure } from '../failure.ts'
import { cliLimits } from '../limits.ts'
import type { HeadView } from '../views.ts'

export const KEY_FLAGS = {
  key: {
    type: 'text',
    value: 'BASE64',
    many: true,
    summary:
      'A public key that you trust: any one of whoever made the record, also a former one; may be repeated',
  },
  'key-file': {
    type: 'text',
    value: 'FILE',
    many: true,
    complete: 'file',
    summary: 'A file with such keys: an alp_key.pub, or one key on each line; may be repeated',
  },
} as const

export interface KeyValues {
  readonly key: readonly string[]
  readonly 'key-file': readonly string[]
}

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
  try {
    if (statSync(file).size > cliLimits.keyFileBytes)
      throw new Failure('file_unreadable', `${file} is too large for a file of keys.`)
    return readFileSync(file, 'utf8')
  } catch (thrown) {
    if (thrown instanceof Failure) throw thrown
    const { code } = thrown as NodeJS.ErrnoException
    throw new Failure(code === 'ENOENT' ? 'file_not_found' : 'file_unreadable', `${file} cannot be read.`, {
      why: `The system says ${code}.`,
      next: 'Name a file with public keys, or give one with --key.',
      cause: thrown,
    })
  }
}

/** `RUN:SEQ:HASH`, as `parley trail heads` prints it. */
export function headOf(text: string): HeadView {
  const [, run, seq, hash] = /^(.{1,64}):(\d{1,10}):([0-9a-f]{64})$/.exec(text.trim()) ?? []
  if (run === undefined || seq === undefined || hash === undefined || Number(seq) < 1) {
    throw new Failure('usage', `--expect-head '${text.slice(0, 120)}' is no head.`, {
      why: 'A head is RUN:SEQ:HASH: the whole id of a run, the number of an entry and its hash.',
      next: '`parley trail heads` prints them so.',
    })
  }
  return { run, seq: Number(seq), hash }
}
