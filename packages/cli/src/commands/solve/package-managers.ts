// What installs the dependencies of a project, and what tests it, as its lock files tell.
import { existsSync } from 'node:fs'
import { join } from 'node:path'

interface PackageManager {
  /** The first one that is there tells. */
  readonly locks: readonly string[]
  readonly setup: readonly string[]
  readonly check: readonly string[]
}

/** Where several have a lock file for the same packages, the first counts. */
const packageManagers: readonly (readonly PackageManager[])[] = [
  [
    { locks: ['pnpm-lock.yaml'], setup: ['pnpm', 'install', '--frozen-lockfile'], check: ['pnpm', 'test'] },
    // The second generation of yarn has a file of settings, and another name for the same flag.
    { locks: ['.yarnrc.yml'], setup: ['yarn', 'install', '--immutable'], check: ['yarn', 'test'] },
    { locks: ['yarn.lock'], setup: ['yarn', 'install', '--frozen-lockfile'], check: ['yarn', 'test'] },
    { locks: ['package-lock.json', 'npm-shrinkwrap.json'], setup: ['npm', 'ci'], check: ['npm', 'test'] },
  ],
  [
    { locks: ['uv.lock'], setup: ['uv', 'sync', '--locked'], check: ['uv', 'run', 'pytest', '-q'] },
    {
      locks: ['requirements.txt'],
      setup: ['sh', '-c', 'python3 -m venv .venv && .venv/bin/pip install -r requirements.txt'],
      check: ['sh', '-c', '.venv/bin/pytest -q'],
    },
  ],
  [{ locks: ['Cargo.lock'], setup: ['cargo', 'fetch', '--locked'], check: ['cargo', 'test', '--locked'] }],
  [{ locks: ['go.sum'], setup: ['go', 'mod', 'download'], check: ['go', 'test', './...'] }],
]

export interface ProjectSetup {
  readonly locks: readonly string[]
  /** One command for all of them. */
  readonly setup: readonly string[]
  readonly check: readonly string[]
}

export function projectSetup(folder: string): ProjectSetup | undefined {
  const found = packageManagers.flatMap(each => {
    for (const { locks, ...commands } of each) {
      const lock = locks.find(name => existsSync(join(folder, name)))
      if (lock !== undefined) return [{ lock, ...commands }]
    }
    return []
  })
  const [first] = found
  if (!first) return undefined
  const locks = found.map(({ lock }) => lock)
  if (found.length === 1) return { locks, setup: first.setup, check: first.check }
  return { locks, setup: inTurn(found.map(each => each.setup)), check: inTurn(found.map(each => each.check)) }
}

/** One after the other, until one fails. */
function inTurn(commands: readonly (readonly string[])[]): readonly string[] {
  const script = (command: readonly string[]) => (command[1] === '-c' ? command[2] : command.join(' '))
  return ['sh', '-c', commands.map(script).join(' && ')]
}

/** A command as a list in YAML. */
export function yamlList(words: readonly string[]): string {
  return `[${words.map(word => (/^[\w./-]+$/.test(word) ? word : `'${word.replaceAll("'", "''")}'`)).join(', ')}]`
}
