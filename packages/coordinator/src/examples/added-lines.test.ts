// How the example release-check reads what git prints of a history.

import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'

interface Reader {
  commits: number
  push(chunk: Buffer): void
}

const file = join(import.meta.dirname, '../../../../examples/release-check/checks/lib/added-lines.mjs')

test('a hunk that git miscounts hides no commit behind it', async () => {
  const read: unknown = await import(pathToFileURL(file).href)
  const { AddedLines } = read as { AddedLines: new (onLine: (line: { text: string }) => void) => Reader }
  const added: string[] = []
  const lines = new AddedLines(({ text }) => added.push(text))
  const commit = (digit: string) => `\0${digit.repeat(40)} 2026-01-01`
  // As git 2.39 prints the deletion of a file in a merge.
  const merge = ['diff --cc gone', '@@@ -1,1 -1,1 +1,18446744073709551615 @@@', '--gone', '--too']
  const change = ['diff --git a/x b/x', '+++ b/x', '@@ -0,0 +1 @@', '+new']
  lines.push(Buffer.from([commit('a'), ...merge, commit('b'), ...change, ''].join('\n')))
  expect([lines.commits, added]).toEqual([2, ['new']])
})
