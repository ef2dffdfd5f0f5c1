// The release check of examples/: each check runs as a process in a small real repository with one defect, and its JSON
// is looked at. Secrets are made up here, from a hash, so that none stands in this file.
import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import type { CommandSettings } from '@parley/agents'
import { unwrap } from '@parley/core'
import { describe, expect, onTestFinished, test } from 'vitest'
import { readTeam } from '../team/testing/teams.ts'

const examples = join(import.meta.dirname, '..', '..', '..', '..', 'examples')
const programs = join(examples, 'release-check', 'checks')
const CHECKS = ['tests', 'secrets', 'licences', 'changelog', 'size', 'links'] as const

type Files = Readonly<Record<string, string>>
type Variables = Readonly<Record<string, string>>

interface Part {
  readonly check: string
  readonly verdict: 'pass' | 'warn' | 'fail'
  readonly summary: string
  readonly findings: readonly { severity: string; message: string; file?: string; line?: number }[]
  readonly facts: Readonly<Record<string, unknown>>
}

const says = (words: string) => expect.stringContaining(words)

function temporary(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'parley-release-')))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** The user's own settings for git must not matter. */
const isolated = { GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' }

function git(folder: string, ...args: readonly string[]): string {
  const identity = ['-c', 'user.name=Ann', '-c', 'user.email=ann@example.org']
  return execFileSync('git', [...identity, ...args], {
    cwd: folder,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...isolated },
  })
}

function write(folder: string, files: Files): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
}

function commit(folder: string, files: Files, message = 'Change something'): string {
  write(folder, files)
  git(folder, 'add', '--all')
  git(folder, 'commit', '--quiet', '--allow-empty', '-m', message)
  return git(folder, 'rev-parse', 'HEAD').trim()
}

function repository(files: Files): string {
  const folder = temporary()
  git(folder, 'init', '--quiet', '-b', 'main')
  commit(folder, files, 'Begin')
  return folder
}

function start(program: string, folder: string, env: Variables = {}, ...args: readonly string[]) {
  const { PARLEY_PROJECT: _, PARLEY_RUN: __, RELEASE_CHECK_RUNS: ___, ...inherited } = process.env
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(programs, `${program}.mjs`), ...args], {
    cwd: folder,
    encoding: 'utf8',
    env: { ...inherited, ...isolated, ...env },
  })
  return { status, stdout, stderr }
}

function run(check: string, folder: string, env: Variables = {}): Part {
  const { status, stderr } = start(check, folder, env)
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  expect(readFileSync(join(folder, 'release-report', `${check}.md`), 'utf8')).toMatch(/^## /)
  const part: Part = JSON.parse(readFileSync(join(folder, 'release-report', `${check}.json`), 'utf8'))
  expect(part.check).toBe(check)
  return part
}

/** Programs that print what they are told, in front of those on the PATH. */
function fakes(scripts: Files): Variables {
  const bin = temporary()
  for (const [name, script] of Object.entries(scripts)) {
    writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`)
    chmodSync(join(bin, name), 0o755)
  }
  return { PATH: `${bin}${delimiter}${process.env.PATH}` }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
  } catch {
    return false
  }
  // A zombie in a container without an init process still has a number.
  return !existsSync('/proc') || existsSync(`/proc/${pid}/exe`)
}

function random(length: number, seed: string, characters = /[^A-Za-z0-9]/g): string {
  const hashes = Array.from({ length: 8 }, (_, index) =>
    createHash('sha512').update(`${seed}${index}`).digest('base64'),
  )
  return hashes.join('').replace(characters, '').slice(0, length)
}

const githubToken = (seed = 'planted') => ['ghp', random(36, seed)].join('_')
const keyBegin = ['-----BEGIN', 'OPENSSH PRIVATE', 'KEY-----'].join(' ')

const MIT = 'MIT License\n\nPermission is hereby granted, free of charge, to any person obtaining a copy\n'
const PASSING = "import test from 'node:test'\ntest('adds', () => {})\n"
const clean: Files = {
  'package.json': JSON.stringify({
    name: 'clean',
    version: '1.1.0',
    license: 'MIT',
    type: 'module',
    main: './index.js',
    files: ['index.js'],
    scripts: { test: 'node --test' },
  }),
  'index.js': 'export const add = (a, b) => a + b\n',
  'index.test.js': PASSING,
  'README.md':
    '# Clean\n\nSee [the changes](CHANGELOG.md#110---2030-01-02) and [how to use it](#use).\n\n## Use\n\nIt adds.\n',
  'CHANGELOG.md': '# Changelog\n\n## [1.1.0] - 2030-01-02\n\n- Adds faster\n\n## [1.0.0] - 2030-01-01\n\n- Adds\n',
  LICENSE: MIT,
}

describe('the team file', () => {
  test('each check may change its own two files only, and the report waits for all of them', () => {
    const team = unwrap(readTeam(readFileSync(join(examples, 'release-check', 'parley.yaml'), 'utf8')))
    expect(team.approval).toBe('none')
    expect(team.limits.concurrency).toBe(4)
    const paths = Object.fromEntries(team.plan.map(task => [task.id, task.paths]))
    const own = CHECKS.map(check => [check, [`release-report/${check}.*`]])
    expect(paths).toEqual({ ...Object.fromEntries(own), report: ['RELEASE-REPORT.md'] })
    expect(team.plan.find(({ id }) => id === 'report')?.needs?.toSorted()).toEqual([...CHECKS].toSorted())
    for (const { command } of Object.values<CommandSettings>(team.agents)) {
      const [, script] = command ?? []
      expect(existsSync(script!.replace('{base}', join(examples, 'release-check')))).toBe(true)
    }
  })
})

describe('a whole report', () => {
  test('a clean repository passes every check and is READY', () => {
    const folder = repository({ ...clean, 'CHANGELOG.md': '# Changelog\n' })
    git(folder, 'tag', 'v1.0.0')
    commit(folder, clean, 'Add faster')
    for (const check of CHECKS) expect(run(check, folder)).toMatchObject({ verdict: 'pass', findings: [] })
    const { status, stdout } = start('report', folder)
    expect(status).toBe(0)
    expect(stdout).toMatch(/^READY$/m)
    const report = readFileSync(join(folder, 'RELEASE-REPORT.md'), 'utf8')
    expect(report).toMatch(/^# Release report: READY\n\nVersion 1\.1\.0, commit [0-9a-f]{10}: Add faster\n/)
    expect(git(folder, 'status', '--porcelain')).toBe('?? RELEASE-REPORT.md\n?? release-report/\n')
  })

  test('a planted secret is found and appears in no output, wherever it stands', () => {
    const secret = githubToken()
    const folder = repository({
      ...clean,
      'config.js': `\n\nexport const token = '${secret}'\n`,
      'README.md': `See [this](./${secret}.md).\n`,
      'index.test.js': `import test from 'node:test'\ntest('${secret}', () => { console.log('${secret}'); throw new Error('${secret}') })\n`,
    })
    commit(folder, {}, `Use ${secret}`)
    const said = [...CHECKS, 'report'].map(check => start(check, folder)).map(({ stdout, stderr }) => stdout + stderr)
    const written = readdirSync(join(folder, 'release-report')).map(name =>
      readFileSync(join(folder, 'release-report', name), 'utf8'),
    )
    const report = readFileSync(join(folder, 'RELEASE-REPORT.md'), 'utf8')
    expect(report).toMatch(/^# Release report: NOT READY/)
    expect([...said, ...written, report].filter(text => text.includes(secret))).toEqual([])
    expect(run('secrets', folder).findings).toMatchObject([{ severity: 'error', message: says('GitHub token') }])
    expect(run('tests', folder).verdict).toBe('fail')
    expect(run('links', folder).verdict).toBe('warn')
  })

  test('a check that was not made counts against the release', () => {
    const folder = repository(clean)
    for (const check of CHECKS.filter(name => name !== 'secrets')) run(check, folder)
    expect(start('report', folder).stdout).toMatch(/^NOT READY$/m)
    write(folder, {
      'release-report/secrets.json': '{"check":"secrets","verdict":"fine"}',
      'release-report/secrets.md': '## Secrets\n',
    })
    expect(start('report', folder).stdout).toMatch(/^fail {2}Secrets.*no verdict pass, warn or fail/m)
    expect(start('valid', folder, {}, 'tests').status).toBe(0)
    expect(start('valid', folder, {}, 'tests', 'secrets').status).toBe(1)
  })

  test('commits that only hold reports, as a run makes them, are not part of what is looked at', () => {
    const folder = repository(clean)
    const head = git(folder, 'rev-parse', 'HEAD').trim()
    commit(folder, { 'release-report/tests.md': '[gone](gone.md)\n' })
    commit(folder, { 'release-report/size.md': 'x', 'RELEASE-REPORT.md': '[gone](gone.md)\n' })
    expect(run('changelog', folder).facts).toMatchObject({ commit: head, commitsSinceTag: 1 })
    expect(run('size', folder).facts).toMatchObject({ files: Object.keys(clean).length })
    expect(run('links', folder).findings).toEqual([])
  })

  test.each(CHECKS)('%s ends with 1 and says why where it cannot check', check => {
    const { status, stderr } = start(check, temporary())
    expect(status).toBe(1)
    expect(stderr).toMatch(/could not check\. .* is not in a git repository/)
  })

  test('where git ignores the report a run would lose it, and is told so; by hand it does not matter', () => {
    const folder = repository({ ...clean, '.gitignore': 'release-report/\n' })
    const ended = { status: 1, stderr: says('A .gitignore leaves out') }
    expect(start('links', folder, { PARLEY_RUN: 'run_1' })).toMatchObject(ended)
    expect(run('links', folder).verdict).toBe('pass')
  })

  test('a link in the repository never makes a check write elsewhere', () => {
    const elsewhere = temporary()
    const folder = repository(clean)
    symlinkSync(elsewhere, join(folder, 'release-report'))
    expect(start('links', folder).status).toBe(1)
    expect(readdirSync(elsewhere)).toEqual([])
  })
})

describe('secrets', () => {
  test('one that was deleted again is found with its commit, file and line', () => {
    const folder = repository({ 'a.txt': 'one\n' })
    const planted = commit(folder, { 'deep/käse file.env': `A=1\nB=2\nTOKEN=${githubToken()}\n` })
    commit(folder, { 'deep/käse file.env': 'A=1\n' })
    const { verdict, findings } = run('secrets', folder)
    expect(verdict).toBe('fail')
    const message = says(`added by ${planted.slice(0, 10)}`)
    expect(findings).toMatchObject([{ severity: 'error', file: 'deep/käse file.env', line: 3, message }])
    expect(findings[0]!.message).toContain('no longer in the files')
  })

  test.each<readonly [string, string, string]>([
    ['AWS access key id', `key: ${['AKIA', 'Q3EGR7NT5WXZ2KLM'].join('')}`, 'error'],
    ['Anthropic key', ['sk-ant', `api03-${random(95, 'anthropic')}`].join('-'), 'error'],
    ['npm token', `//npm.example.org/:_authToken=${random(40, 'npm')}`, 'error'],
    ['Slack token', ['xoxb', '4920184756', random(24, 'slack')].join('-'), 'error'],
    ['private key', `${keyBegin}\n${random(64, 'key')}\n`, 'error'],
    ['private key', `const key = "${keyBegin}\\n${random(64, 'key')}"`, 'error'],
    ['signed token (JWT)', `t = ey${'J'}${random(30, 'h')}.ey${'J'}${random(40, 'p')}.${random(43, 's')}`, 'warning'],
    ['password in a URL', `postgres://app:${random(12, 'url')}@db.internal/app`, 'warning'],
    ['value that looks like a key', `const apiKey = '${random(32, 'generic')}'`, 'warning'],
  ])('finds a %s', (kind, text, severity) => {
    const { findings } = run('secrets', repository({ 'a.txt': `first\n${text}\n` }))
    expect(findings).toMatchObject([{ severity, file: 'a.txt', line: 2, message: says(kind) }])
    expect(JSON.stringify(findings)).not.toContain(random(10, 'key'))
  })

  test('what only looks like a secret is passed over', () => {
    const folder = repository({
      'a.js': [
        `const token = 'ghp_${'a'.repeat(36)}'`,
        `const other = 'ghp_${'ab'.repeat(18)}'`,
        `const key = '${['AKIA', 'IOSFODNN7EXAMPLE'].join('')}'`,
        "const password = process.env.DATABASE_PASSWORD ?? ''",
        "const tokenName = 'parley-access-token-version-2'",
        `const secret = '${githubToken('mine')}' // release-check:allow`,
        "const url = 'https://user:password@localhost:8080/'",
        `"integrity": "sha512-${random(86, 'integrity')}=="`,
        `const begin = '${keyBegin}'`,
        'const none = 1',
      ].join('\n'),
      'test/b.js': `const apiKey = '${random(32, 'generic')}'\n`,
    })
    expect(run('secrets', folder)).toMatchObject({ verdict: 'pass', findings: [] })
  })

  test('the allow list names places or globs, and hides nothing else', () => {
    const files = {
      'a.txt': `${githubToken('a')}\n`,
      'docs/deep/b.txt': `${githubToken('b')}\n`,
      'c.txt': `${githubToken('c')}\n`,
    }
    const folder = repository(files)
    const first = git(folder, 'rev-parse', 'HEAD').slice(0, 10)
    commit(folder, { '.release-check-allow': `# old ones\n${first}:a.txt:1 # revoked in May\ndocs/**\n` })
    expect(run('secrets', folder).findings).toMatchObject([{ file: 'c.txt' }])
  })

  test('a secret in a merge, on another branch, or below lines that look like a patch is found', () => {
    const folder = repository({
      'a.txt': 'a\n',
      'patch.txt': `+++ b/other.txt\n@@ -1 +1 @@\n${githubToken('patch')}\n`,
    })
    git(folder, 'checkout', '--quiet', '-b', 'side')
    commit(folder, { 'a.txt': 'side\n', 'side.txt': `${githubToken('side')}\n` })
    git(folder, 'checkout', '--quiet', 'main')
    commit(folder, { 'a.txt': 'main\n' })
    expect(() => git(folder, 'merge', 'side')).toThrow()
    commit(folder, { 'a.txt': `both\n${githubToken('merge')}\n` })
    git(folder, 'checkout', '--quiet', '--orphan', 'lost')
    git(folder, 'rm', '-r', '--quiet', '--force', '.')
    commit(folder, { 'lost.txt': `${githubToken('lost')}\n` })
    git(folder, 'checkout', '--quiet', 'main')
    const { findings } = run('secrets', folder)
    const places = findings.map(({ file, line }) => `${file}:${line}`)
    expect(places.toSorted()).toEqual(['a.txt:2', 'lost.txt:1', 'patch.txt:3', 'side.txt:1'])
  })

  test('a tracked .env is a remark', () => {
    const part = run('secrets', repository({ '.env': 'A=1\n', '.env.example': 'A=\n' }))
    expect(part).toMatchObject({ verdict: 'warn', findings: [{ file: '.env' }] })
  })

  test('five thousand commits take less than 15 seconds, the first of them included', () => {
    const folder = temporary()
    git(folder, 'init', '--quiet', '-b', 'main')
    const commits = Array.from({ length: 5000 }, (_, index) => {
      const text = index === 0 ? `${githubToken()}\n` : `line ${index}\nconst token = read(${index})\n`.repeat(20)
      const from = index === 0 ? '' : `from :${index}\n`
      return `commit refs/heads/main\nmark :${index + 1}\ncommitter Ann <ann@example.org> ${1_900_000_000 + index} +0000\ndata 1\nx\n${from}M 100644 inline f${index % 50}.txt\ndata ${text.length}\n${text}\n`
    })
    execFileSync('git', ['fast-import', '--quiet'], { cwd: folder, input: commits.join('') })
    const began = performance.now()
    const part = run('secrets', folder)
    expect(performance.now() - began).toBeLessThan(15_000)
    const facts = { commits: 5000, commitsRead: 5000, complete: true }
    expect(part).toMatchObject({ facts, findings: [{ severity: 'error', file: 'f0.txt', line: 1 }] })
  })

  test('a history that is larger than the limit is said to be read in part, and the present files are read whole', () => {
    const folder = repository({ 'old.txt': `${githubToken()}\n` })
    for (let index = 0; index < 5; index++)
      commit(folder, { 'large.txt': `${index} ${'word '.repeat(20_000)}\n`.repeat(3) })
    const findings = [
      { severity: 'error', file: 'old.txt', message: says('still in the file') },
      { severity: 'warning', message: says('only the newest') },
    ]
    const part = run('secrets', folder, { RELEASE_CHECK_HISTORY_MIB: '0.5' })
    expect(part).toMatchObject({ verdict: 'fail', facts: { complete: false, commits: 6 }, findings })
  })
})

describe('tests', () => {
  const npm = (script: string, more: object = {}): Files => {
    const manifest = { name: 'a', version: '1.0.0', type: 'module', scripts: { test: script }, ...more }
    return { 'package.json': JSON.stringify(manifest, null, 2) }
  }

  test('a failing test is named with its file and line', () => {
    const text =
      "import test from 'node:test'\nimport assert from 'node:assert'\n\ntest('adds', () => {\n  assert.equal(1 + 1, 3)\n})\n"
    const part = run('tests', repository({ ...npm('node --test'), 'sum.test.js': text, 'ok.test.js': PASSING }))
    const finding = { severity: 'error', message: 'failed: adds', file: 'sum.test.js', line: expect.any(Number) }
    expect(part).toMatchObject({ verdict: 'fail', summary: says('1 failed, 1 test passed'), findings: [finding] })
  })

  test('one that takes too long is a remark, and nothing of it is left running', () => {
    const hang =
      "import { writeFileSync } from 'node:fs'\nprocess.on('SIGTERM', () => {})\nwriteFileSync('pid', String(process.pid))\nsetInterval(() => {}, 1000)\n"
    const folder = repository({ ...npm('node hang.js'), 'hang.js': hang })
    const part = run('tests', folder, { RELEASE_CHECK_TEST_SECONDS: '1.5' })
    const findings = [{ severity: 'warning', file: 'package.json', line: 6 }]
    expect(part).toMatchObject({
      verdict: 'warn',
      summary: expect.stringMatching(/no failure in the first \d s/),
      findings,
    })
    expect(isRunning(Number(readFileSync(join(folder, 'pid'), 'utf8')))).toBe(false)
  })

  test('dependencies that are not installed are said, not taken for a failure', () => {
    const folder = repository(npm('vitest run', { devDependencies: { vitest: '5.0.0' } }))
    const message = says('was not run: its dependencies are not installed; run `npm install`')
    expect(run('tests', folder)).toMatchObject({ verdict: 'warn', findings: [{ message }] })
  })

  test('a module that the manifest names and nobody installed is the same; one that it does not name is a mistake', () => {
    const files = {
      'a.js': "import 'left-pad'\n",
      'node_modules/other/package.json': '{}',
      '.gitignore': 'node_modules/\n',
    }
    const named = run('tests', repository({ ...npm('node a.js', { dependencies: { 'left-pad': '1' } }), ...files }))
    const summary = says('needs its dependencies installed (left-pad)')
    expect(named).toMatchObject({ verdict: 'warn', summary })
    expect(run('tests', repository({ ...npm('node a.js'), ...files })).verdict).toBe('fail')
  })

  test('in a worktree the modules of the project are lent: its own packages as they are to be released, the rest as installed', () => {
    const project = repository({
      ...npm(
        "node --input-type=module -e \"import { a } from '@own/a'; import { b } from 'b'; if (a + b !== 'newb') throw a + b\"",
        { dependencies: { '@own/a': '1', b: '1' } },
      ),
      '.gitignore': 'node_modules/\n',
      'packages/a/package.json': '{"name":"@own/a","version":"1.0.0","type":"module","exports":"./a.js"}',
      'packages/a/a.js': "export const a = 'new'\n",
    })
    write(project, {
      'node_modules/b/package.json': '{"name":"b","version":"1.0.0","type":"module","exports":"./b.js"}',
      'node_modules/b/b.js': "export const b = 'b'\n",
      'node_modules/.cache/x': 'x',
      // Not committed: it is not what is to be released.
      'packages/a/a.js': "export const a = 'uncommitted'\n",
    })
    mkdirSync(join(project, 'node_modules', '@own'))
    symlinkSync('../../packages/a', join(project, 'node_modules', '@own', 'a'))
    const worktree = join(temporary(), 'work')
    git(project, 'worktree', 'add', '--quiet', '--detach', worktree)
    const part = run('tests', worktree, { PARLEY_PROJECT: project })
    expect(part).toMatchObject({ verdict: 'pass', summary: says('npm test: passed') })
    expect(readdirSync(worktree)).not.toContain('node_modules')
    expect(readFileSync(join(project, 'node_modules', 'b', 'b.js'), 'utf8')).toBe("export const b = 'b'\n")
    expect(readFileSync(join(project, 'packages', 'a', 'a.js'), 'utf8')).toContain('uncommitted')
  })

  /** A program that prints these lines and ends with this code. */
  const printing = (program: string, printed: string, code = 0) =>
    fakes({ [program]: `${printed.replaceAll(/^(.*)$/gm, 'echo "$1"')}\nexit ${code}` })

  test.each<readonly [tool: string, files: Files, program: string, printed: string, said: string]>([
    ['pnpm', { ...npm('x'), 'pnpm-lock.yaml': '' }, 'pnpm', ' Tests  7 passed (7)', 'pnpm test: 7 tests passed'],
    ['yarn', { ...npm('x'), 'yarn.lock': '' }, 'yarn', 'Tests:       7 passed, 7 total', 'yarn test: 7 tests passed'],
    [
      'cargo',
      { 'Cargo.toml': '' },
      'cargo',
      'test result: ok. 3 passed; 0 failed\ntest result: ok. 4 passed; 0 failed',
      'cargo test: 7 tests passed',
    ],
    ['go', { 'go.mod': 'module a' }, 'go', 'ok  \texample.org/a\t0.1s', 'go test: 1 package passed'],
    ['pytest', { 'test_a.py': '' }, 'python3', '7 passed in 0.12s', 'pytest: 7 tests passed'],
    ['make', { Makefile: 'all:\n\ntest: all\n\techo ok\n' }, 'make', '7 passed, 0 failed', 'make test: 7 tests passed'],
  ])('finds and reads %s', (_, files, program, printed, said) => {
    const part = run('tests', repository(files), printing(program, printed))
    expect(part).toMatchObject({ verdict: 'pass', summary: says(said) })
  })

  test.each<readonly [tool: string, files: Files, program: string, printed: string, place: string]>([
    [
      'pytest',
      { 'test_a.py': '1\n2\n' },
      'python3',
      'test_a.py:2: AssertionError\nFAILED test_a.py::test_x - assert 1 == 2\ntest_a.py:2: x\n1 failed, 2 passed in 0.1s',
      'test_a.py:2',
    ],
    [
      'cargo',
      { 'Cargo.toml': '', 'src/lib.rs': '' },
      'cargo',
      'test tests::x ... FAILED\nthread panicked at src/lib.rs:10:5:',
      'src/lib.rs:10',
    ],
    [
      'go',
      { 'go.mod': 'module a', 'pkg/a_test.go': '' },
      'go',
      '--- FAIL: TestX (0.00s)\n    a_test.go:12: wrong',
      'pkg/a_test.go:12',
    ],
    ['vitest', { ...npm('x'), 'a.test.ts': '' }, 'npm', ' FAIL  a.test.ts > adds\n ❯ a.test.ts:4:9', 'a.test.ts:4'],
  ])('says where a test of %s failed', (tool, files, program, printed, place) => {
    const code = tool === 'cargo' ? 101 : 1
    const { findings } = run('tests', repository(files), printing(program, printed, code))
    expect(findings.map(({ severity, file, line }) => `${severity} ${file}:${line}`)).toEqual([`error ${place}`])
  })

  test('a project without tests, or tests that run this very check, are remarks', () => {
    const none = run('tests', repository(npm('echo "Error: no test specified" && exit 1')))
    expect(none).toMatchObject({ verdict: 'warn', facts: { commands: [] } })
    const inside = run('tests', repository(npm('exit 1')), { RELEASE_CHECK_RUNS: '1' })
    expect(inside).toMatchObject({ verdict: 'warn', summary: says('Not run') })
  })

  test("the project's tests get no token of Parley", () => {
    const folder = repository(
      npm('node -e "process.exit(process.env.PARLEY_TOKEN_FILE || !process.env.PARLEY_TURN ? 1 : 0)"'),
    )
    expect(run('tests', folder, { PARLEY_TOKEN_FILE: '/t', PARLEY_TURN: 'run/ws/1' }).verdict).toBe('pass')
  })
})

describe('licences', () => {
  const lock = (packages: object) => JSON.stringify({ lockfileVersion: 3, packages }, null, 2)
  const own = { 'package.json': '{"name":"a","version":"1.0.0","license":"MIT"}', LICENSE: MIT }

  test('copyleft in what is released stops it; in a tool for development it is only said', () => {
    const packages = {
      '': { dependencies: { strict: '1', either: '1' }, devDependencies: { tool: '1' } },
      'node_modules/strict': { version: '1.0.0', license: 'GPL-3.0-only', dependencies: { mild: '1' } },
      'node_modules/mild': { version: '1.0.0', license: 'MPL-2.0' },
      'node_modules/either': { version: '1.0.0', license: '(MIT OR GPL-2.0)' },
      'node_modules/tool': { version: '1.0.0', license: 'AGPL-3.0' },
    }
    const text = lock(packages)
    const { verdict, findings, facts } = run('licences', repository({ ...own, 'package-lock.json': text }))
    expect(verdict).toBe('fail')
    expect(findings.map(({ severity, message }) => `${severity}: ${message}`)).toEqual([
      'error: strict 1.0.0 is under GPL-3.0-only (copyleft)',
      'warning: mild 1.0.0 is under MPL-2.0 (weak copyleft)',
      'info: tool 1.0.0 is under AGPL-3.0 (copyleft); for development only',
    ])
    expect(text.split('\n')[findings[0]!.line! - 1]).toContain('node_modules/strict')
    expect(facts).toMatchObject({ dependencies: 4, kinds: { permissive: 1 } })
  })

  test('a licence that the lock file does not name is read from what is installed in the project', () => {
    const packages = {
      '': { dependencies: { a: '1', b: '1', c: '1' } },
      'node_modules/a': { version: '1.0.0' },
      'node_modules/b': { version: '1.0.0' },
      'node_modules/c': { version: '1.0.0' },
    }
    const project = temporary()
    write(project, {
      'node_modules/a/package.json': '{"version":"1.0.0","license":"ISC"}',
      'node_modules/b/package.json': '{"version":"1.0.0"}',
      'node_modules/b/LICENSE': MIT,
    })
    const folder = repository({ ...own, 'package-lock.json': lock(packages) })
    const findings = [{ message: 'c 1.0.0 is without a licence that is known here' }]
    expect(run('licences', folder, { PARLEY_PROJECT: project })).toMatchObject({ verdict: 'warn', findings })
  })

  test.each<readonly [string, string, string]>([
    [
      'pnpm-lock.yaml',
      "lockfileVersion: '9.0'\n\npackages:\n\n  '@s/a@1.0.0':\n    resolution: {}\n\n  b@2.0.0(c@1.0.0):\n    resolution: {}\n\nsnapshots:\n  z@1.0.0: {}\n",
      '@s/a 1.0.0:5 b 2.0.0:8',
    ],
    [
      'yarn.lock',
      '# v1\n\n"@s/a@^1.0.0", "@s/a@^1.1.0":\n  version "1.1.0"\n\nb@2:\n  version "2.0.0"\n',
      '@s/a 1.1.0:3 b 2.0.0:6',
    ],
    [
      'Cargo.lock',
      '[[package]]\nname = "own"\nversion = "0.1.0"\n\n[[package]]\nname = "b"\nversion = "2.0.0"\nsource = "registry+x"\n',
      'b 2.0.0:5',
    ],
    [
      'go.mod',
      'module example.org/own\n\ngo 1.22\n\nrequire (\n\texample.org/b v2.0.0 // indirect\n)\n',
      'example.org/b v2.0.0:6',
    ],
    ['requirements.txt', '# base\n-r other.txt\nb==2.0.0 ; python_version > "3"\nc[extra]>=1\n', 'b 2.0.0:3 c 1:4'],
    [
      'uv.lock',
      '[[package]]\nname = "own"\nversion = "1"\nsource = { virtual = "." }\n\n[[package]]\nname = "b"\nversion = "2.0.0"\nsource = { registry = "x" }\n',
      'b 2.0.0:6',
    ],
  ])('names the unknown dependencies of %s with their lines', (file, text, expected) => {
    const nowhere = { CARGO_HOME: temporary(), GOMODCACHE: temporary() }
    const { verdict, findings } = run('licences', repository({ ...own, [file]: text }), nowhere)
    expect(verdict).toBe('warn')
    expect(findings.map(({ message, line }) => `${message.split(' is ')[0]}:${line}`).join(' ')).toBe(expected)
  })

  test('reads the caches of cargo and go, and a virtual environment of Python', () => {
    const [cargo, modules, project] = [temporary(), temporary(), temporary()]
    write(cargo, { 'registry/src/x/b-2.0.0/Cargo.toml': '[package]\nlicense = "MIT/Apache-2.0"\n' })
    write(modules, { 'example.org/!big@v1.0.0/LICENSE': MIT })
    write(project, {
      '.venv/lib/python3/site-packages/my_lib-1.0.dist-info/METADATA':
        'Name: my-lib\nLicense-Expression: BSD-3-Clause\n\nText\n',
    })
    const files = {
      'Cargo.lock': '[[package]]\nname = "b"\nversion = "2.0.0"\nsource = "registry+x"\n',
      'go.mod': 'module example.org/own\nrequire example.org/Big v1.0.0\n',
      'requirements.txt': 'My.Lib==1.0\n',
    }
    const env = { CARGO_HOME: cargo, GOMODCACHE: modules, PARLEY_PROJECT: project }
    const facts = { dependencies: 3, kinds: { permissive: 3 } }
    expect(run('licences', repository({ ...own, ...files }), env)).toMatchObject({ verdict: 'pass', facts })
  })

  test('a project without a licence is a remark', () => {
    const { findings } = run('licences', repository({ 'package.json': '{"name":"a","version":"1.0.0"}' }))
    expect(findings.map(({ severity }) => severity)).toEqual(['warning', 'warning'])
  })
})

describe('changelog', () => {
  const manifest = { 'package.json': '{\n  "name": "a",\n  "version": "2.0.0"\n}\n' }

  const longer = '## 12.0.0\n\n- a\n\n## 2.0.0-rc.1\n\n- b\n'
  const empty = '# Changelog\n\n## [Unreleased]\n\n### Added\n\n## 1.0.0\n\n- a\n'

  test.each<readonly [string, string | undefined, Part['verdict'], object]>([
    ['none', undefined, 'warn', { message: says('no changelog') }],
    ['no entry', '# Changelog\n\n## 1.0.0\n\n- a\n', 'fail', { file: 'CHANGELOG.md', line: 3 }],
    ['the entry of a longer version', longer, 'fail', { line: 1 }],
    ['an empty entry', empty, 'warn', { line: 3, message: says('empty') }],
  ])('%s is found', (_, text, verdict, finding) => {
    const files = { ...manifest, ...(text !== undefined && { 'CHANGELOG.md': text }) }
    const part = run('changelog', repository(files))
    expect(part.verdict).toBe(verdict)
    expect(part.findings[0]).toMatchObject(finding)
  })

  test.each(['## [Unreleased]\n\n- a\n', '## v2.0.0 (2030-01-01)\n\n- a\n', '2.0.0\n-----\n\n* a\n'])(
    'an entry for this release is recognised: %j',
    text => {
      expect(run('changelog', repository({ ...manifest, 'HISTORY.md': text })).verdict).toBe('pass')
    },
  )

  test('a version that is tagged already must be raised; commits since the tag are listed', () => {
    const folder = repository({ ...manifest, 'CHANGELOG.md': '## 2.0.0\n\n- a\n' })
    git(folder, 'tag', 'v2.0.0')
    const facts = { lastTag: 'v2.0.0', commitsSinceTag: 0 }
    expect(run('changelog', folder)).toMatchObject({ verdict: 'pass', facts })
    rmSync(join(folder, 'release-report'), { recursive: true })
    commit(folder, { 'a.txt': 'a' }, 'Mend | the pipe')
    const finding = { file: 'package.json', line: 3, message: says('released already (tag v2.0.0)') }
    expect(run('changelog', folder)).toMatchObject({ verdict: 'warn', findings: [finding] })
    expect(readFileSync(join(folder, 'release-report', 'changelog.md'), 'utf8')).toContain('| Mend \\| the pipe |')
  })
})

describe('size', () => {
  test('large files are named; a huge one stops the release', () => {
    const folder = repository({ 'small.txt': 'x', 'large.bin': 'x'.repeat(20_000), 'huge.bin': '' })
    truncateSync(join(folder, 'huge.bin'), 51 * 1024 * 1024)
    commit(folder, {})
    const findings = [
      { severity: 'error', file: 'huge.bin' },
      { severity: 'warning', file: 'large.bin' },
    ]
    expect(run('size', folder, { RELEASE_CHECK_FILE_MIB: '0.01' })).toMatchObject({ verdict: 'fail', findings })
  })

  test('says how much was added since the last tag', () => {
    const folder = repository({ 'a.txt': 'x'.repeat(1000), 'b.txt': 'x' })
    git(folder, 'tag', 'v1')
    commit(folder, { 'a.txt': 'x'.repeat(5000) })
    const growth = { bytes: 4000, files: 0, most: [{ path: 'a.txt', bytes: 4000 }] }
    expect(run('size', folder).facts).toMatchObject({ growth })
  })

  test('looks into what npm would publish and runs no script for it', () => {
    const folder = repository({
      'package.json': JSON.stringify({
        name: 'a',
        version: '1.0.0',
        main: './lost.js',
        bin: './dist/cli.js',
        scripts: { prepack: 'touch ran', prepare: 'touch ran' },
      }),
      '.gitignore': 'dist/\n',
      '.npmignore': '',
      '.env': 'A=1\n',
      'a.test.js': '',
    })
    run('links', folder)
    const { verdict, findings, facts } = run('size', folder)
    expect(existsSync(join(folder, 'ran'))).toBe(false)
    expect(verdict).toBe('fail')
    expect(findings.map(({ severity, message }) => `${severity}: ${message}`)).toEqual([
      'error: a: would publish .env',
      'error: a: its entry points lost.js would not be in the package',
      'info: a: needs its build before publishing, which makes dist/cli.js',
      'info: a: would publish 1 test file, for example a.test.js; a "files" list leaves them out',
    ])
    expect(facts).toMatchObject({ packages: [{ name: 'a', files: 3 }] })
  })
})

describe('links', () => {
  test('links, anchors and images that lead nowhere are named with their lines', () => {
    const folder = repository({
      'README.md': [
        '# A `b` & C',
        '[a](docs/a.md) [gone](docs/gone.md) [own](#a-b--c) [no](#none)',
        '![pic](pic.png) <img src="no.png"> [ref][r] [two',
        'lines](docs/gone2.md "t") [out](https://example.org/x) [mail](mailto:a@example.org)',
        '```',
        '[in code](nothing.md)',
        '```',
        '`[in a span](nothing.md)` <!-- [comment](nothing.md) --> [case](Docs/A.md) [folder](docs/) [root](/docs/a.md#second-1)',
        '[code](docs/x.js#L9) [space](docs/with%20space.md) [![img](none.svg)](docs/a.md#no-such)',
        '',
        '[r]: docs/gone3.md',
      ].join('\n'),
      'docs/a.md': '# First\n\nSecond\n------\n\n## Second\n\n[up](../README.md) [out](../../issues)\n',
      'docs/x.js': 'x\n',
      'docs/with space.md': 'x\n',
      'pic.png': '',
      'test/fixtures/broken.md': '[x](nothing.md)\n',
    })
    const { verdict, findings, facts } = run('links', folder)
    expect(verdict).toBe('warn')
    const found = findings.map(({ severity, file, line, message }) => `${severity} ${file}:${line} ${message}`)
    expect(found).toEqual([
      'warning README.md:2 the link to docs/gone.md leads nowhere',
      'warning README.md:2 #none: README.md has no heading or anchor #none',
      'warning README.md:3 the image no.png does not exist',
      'warning README.md:3 the link to docs/gone2.md leads nowhere',
      'warning README.md:8 the link to Docs/A.md differs from docs/a.md in upper and lower case',
      'warning README.md:9 docs/x.js#L9: docs/x.js has only 2 lines',
      'warning README.md:9 docs/a.md#no-such: docs/a.md has no heading or anchor #no-such',
      'warning README.md:9 the image none.svg does not exist',
      'warning README.md:11 the link to docs/gone3.md leads nowhere',
      'info docs/a.md:8 ../../issues leads out of the repository',
    ])
    expect(facts).toMatchObject({ outside: 2, broken: 9 })
  })
})
