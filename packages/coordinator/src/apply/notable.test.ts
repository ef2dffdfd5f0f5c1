// Which changes of a result other programs run: by the names that they use, whatever links and spellings are between.
import { expect, test } from 'vitest'
import { textName } from '../folder/files/file-name.ts'
import { coordinatorLimits } from '../limits.ts'
import { changedScripts, notableChanges } from './notable.ts'

interface Tree {
  readonly links?: Readonly<Record<string, string>>
  readonly hooks?: readonly string[]
  /** Changed files and links. */
  readonly changed: readonly string[]
}

/** Kind, path and, where it is another, the name that counts. */
async function named({ links = {}, hooks = [], changed }: Tree): Promise<string[]> {
  const checkout = {
    top: '/top/project',
    hooks: async () => [...hooks],
    links: async () => new Map(Object.entries(links).map(([name, target]) => [textName(name), textName(target)])),
    file: async (commit: string) => (commit === 'to' ? '{"scripts":{"a":"b"}}' : undefined),
  }
  const found = await notableChanges(checkout, changed.map(textName), { from: 'from', to: 'to' })
  return found.map(({ kind, path, as, scripts }) => [kind, path, as, ...(scripts ?? [])].filter(Boolean).join(' '))
}

test.each<[string, Tree, readonly string[]]>([
  [
    'a link to a folder, and what is in it',
    { links: { '.vscode': 'cfg' }, changed: ['.vscode', 'cfg/tasks.json', 'cfg/other'] },
    ['settings .vscode', 'settings cfg/tasks.json .vscode/tasks.json'],
  ],
  [
    'a link that was there, of whose target the agent changes',
    { links: { '.envrc': 'real', 'a/.npmrc': '../real2' }, changed: ['real', 'real2', 'real3'] },
    ['settings real .envrc', 'settings real2 a/.npmrc'],
  ],
  [
    'a place at the top alone, on the way to which a link is',
    {
      links: { '.github': 'gh', 'x/.github': '../gh' },
      changed: ['.github', 'x/.github', 'gh/workflows/ci.yml', 'gh/x'],
    },
    ['ci .github', 'ci gh/workflows/ci.yml .github/workflows/ci.yml'],
  ],
  [
    'hooks by configuration',
    {
      links: { hooks: 'realhooks' },
      hooks: ['hooks', 'scripts/push'],
      changed: ['realhooks/pre-commit', 'scripts/push', 'scripts/x'],
    },
    ['hook realhooks/pre-commit hooks/pre-commit', 'hook scripts/push'],
  ],
  [
    'a link in the place of a folder on the way to hooks',
    { links: { a: 'b' }, hooks: ['a/hooks'], changed: ['a', 'b/hooks/x'] },
    ['hook a', 'hook b/hooks/x a/hooks/x'],
  ],
  ['the checkout as the folder of its hooks', { hooks: [''], changed: ['pre-commit'] }, ['hook pre-commit']],
  [
    'links that lead to links, around folders and through the place of the checkout',
    {
      links: { '.husky': 'x/../y/h', y: './z', 'z/h': '/top/project/deep', '.envrc': '../project/e' },
      changed: ['deep/pre-commit', 'e'],
    },
    ['hook deep/pre-commit .husky/pre-commit', 'settings e .envrc'],
  ],
  [
    'a link that sends another one elsewhere',
    { links: { '.husky': 'way/h', way: 'other' }, changed: ['way', 'other/h/pre-commit'] },
    ['hook way .husky', 'hook other/h/pre-commit .husky/pre-commit'],
  ],
  [
    'links that lead outside, nowhere or round in circles',
    { links: { '.npmrc': '../../x', a: 'b', b: 'a', c: '.' }, changed: ['x', 'b', 'd', 'c/d'] },
    [],
  ],
  [
    'spellings that some file systems take for the same',
    {
      links: { '.HUSKY': 'H' },
      changed: ['.VSCODE/Tasks.json', '.v\u017fcode/tasks.json', 'h/x', 'PACKAGE.json'],
    },
    ['settings .VSCODE/Tasks.json', 'settings .v\u017fcode/tasks.json', 'hook h/x .HUSKY/x', 'script PACKAGE.json a'],
  ],
  [
    'a package by another name',
    { links: { 'package.json': 'p' }, changed: ['package.json', 'p'] },
    ['script package.json', 'script p package.json a'],
  ],
  [
    'settings of tools',
    {
      changed: [
        'opencode.json',
        '.cursor/mcp.json',
        'a/.cargo/config.toml',
        '.npmrc',
        '.gitconfig',
        '.mcp.json',
        'x.code-workspace',
        'cargo/config.toml',
      ],
    },
    [
      'opencode.json',
      '.cursor/mcp.json',
      'a/.cargo/config.toml',
      '.npmrc',
      '.gitconfig',
      '.mcp.json',
      'x.code-workspace',
    ].map(each => `settings ${each}`),
  ],
])('named: %s', async (_, tree, found) => {
  expect(await named(tree)).toEqual(found)
})

test('a file that links give more names than anybody looks at is named', async () => {
  const links = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`l${index}`, '.']))
  expect(20 ** 2).toBeGreaterThan(coordinatorLimits.namesOfFile)
  expect(await named({ links, changed: ['harmless'] })).toEqual(['settings harmless'])
})

test.each([
  ['{"scripts":{"a":"1"}}', '\uFEFF{"scripts":{"a":"1","postinstall":"x"}}', ['postinstall']],
  [undefined, '{"scripts":{"a":"1"}}', ['a']],
  ['{"scripts":{"a":"1"}}', undefined, ['a']],
  ['{"name":"a"}', '{"name":"b"}', []],
  ['{}', '{ // comment\n"scripts":{"a":"1"}}', undefined],
  [undefined, undefined, undefined],
])('the scripts that differ between %j and %j', (before, after, scripts) => {
  expect(changedScripts(before, after)).toEqual(scripts)
})
