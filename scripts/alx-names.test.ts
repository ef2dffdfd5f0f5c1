import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { RUN_EVENT_TYPES, SESSION_STATUSES } from '@alx/protocol'
import { expect, test } from 'vitest'
import { ALX_NAMES, redeclared } from './alx-names.ts'

const root = join(import.meta.dirname, '..')

test('ALX-T63 no source of the repository declares a type or a vocabulary of ALX outside @alx/protocol', () => {
  const git = spawnSync('git', ['-c', 'safe.directory=*', 'ls-files', '-z', '*.ts', '*.tsx', '*.mts'], {
    cwd: root,
    encoding: 'utf8',
  })
  const files = git.stdout.split('\0').filter(Boolean)
  expect(files.length).toBeGreaterThan(100)
  expect(files.flatMap(file => redeclared(file, readFileSync(join(root, file), 'utf8')))).toEqual([])
})

test('WG-01 every name of ALX-SDK-02 is held, however it is declared, and a copied vocabulary under any name', () => {
  const sheet = readFileSync(join(root, 'docs/specs/alx-requirements.md'), 'utf8')
  const section = sheet.split('**ALX-SDK-02')[1]!.split('- `economics`')[0]!
  const types = [...section.matchAll(/`([A-Z][a-z]\w*|[A-Z_]+(?:TYPES|STATUSES|CODES))`/g)].map(([, name]) => name)
  expect(ALX_NAMES).toEqual(expect.arrayContaining(types))

  for (const name of ALX_NAMES) {
    const ways = [
      `export interface ${name} {`,
      `type ${name} = {`,
      `type ${name}<T> =\n  T`,
      `export const ${name} = [`,
      `class ${name}<T>`,
    ]
    for (const way of ways) expect(redeclared('packages/alx/src/a.ts', way)).toHaveLength(1)
    expect(redeclared('packages/protocol/src/a.ts', ways[0]!)).toEqual([])
    expect(redeclared('docs/a.md', ways[0]!)).toEqual([])
    expect(
      redeclared('packages/alx/src/a.ts', `import { type ${name}, x } from '@alx/protocol'\nconst a: ${name} = x`),
    ).toEqual([])
  }
  const copy = `const mine = [\n${SESSION_STATUSES.map(status => `  '${status}',\n`).join('')}]`
  expect(redeclared('packages/alx/src/a.ts', copy)).toEqual([expect.stringContaining('SESSION_STATUSES')])
  expect(redeclared('packages/alx/src/a.ts', `f(["${RUN_EVENT_TYPES.join('", "')}"])`)).toHaveLength(1)
})
