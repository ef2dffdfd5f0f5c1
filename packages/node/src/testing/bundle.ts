// The command and the node as a few files instead of hundreds. They start in a third of the time that the sources take, and the tests
// start hundreds of them. Made again when a source has changed.
import { createHash } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { rolldown } from 'rolldown'

const root = join(import.meta.dirname, '..', '..', '..', '..')
const cache = join(root, '.cache')
/** Milliseconds after which nobody starts anything from a bundle that was not asked for again. */
const FORGOTTEN = 6 * 3_600_000

/** Every file that is started as a process or thread, by the name that its starter looks for beside itself. */
const ENTRIES: Readonly<Record<string, string>> = {
  parley: 'packages/cli/src/parley.ts',
  main: 'packages/node/src/main.ts',
  'odd-main': 'packages/node/src/testing/odd-main.ts',
  'loop-watch-thread': 'packages/node/src/loop-watch-thread.ts',
  'git-server': 'packages/coordinator/src/folder/git-server.ts',
  'signing-thread': 'packages/trail/src/signing-thread.ts',
  'sqlite-worker': 'packages/trail/src/index/sqlite-worker.ts',
}

export interface Bundled {
  /** The command. */
  readonly parley: string
  /** The node. */
  readonly main: string
  /** A node that behaves oddly. */
  readonly oddMain: string
  /** For `NODE_COMPILE_CACHE`. */
  readonly compiled: string
}

export async function bundled(): Promise<Bundled> {
  // The guides are found two folders above, as from the sources.
  const made = join(cache, `bundle-${fingerprint()}`)
  if (!existsSync(made)) await make(made)
  const now = new Date()
  utimesSync(made, now, now)
  removeForgotten()
  return {
    parley: join(made, 'dist', 'parley.js'),
    main: join(made, 'dist', 'main.js'),
    oddMain: join(made, 'dist', 'odd-main.js'),
    compiled: join(made, 'compiled'),
  }
}

/** Of the sources as they are. */
function fingerprint(): string {
  const hash = createHash('sha256').update(readFileSync(join(root, 'package-lock.json')))
  for (const file of globSync('packages/*/src/**/*.ts', { cwd: root }).toSorted()) {
    const { mtimeMs, size } = statSync(join(root, file))
    hash.update(`${file} ${mtimeMs} ${size}\n`)
  }
  return hash.digest('hex').slice(0, 16)
}

/** Beside its place and then moved there: somebody else may make the same at this moment. */
async function make(place: string): Promise<void> {
  mkdirSync(cache, { recursive: true })
  const aside = mkdtempSync(join(cache, 'making-'))
  const bundle = await rolldown({
    cwd: root,
    input: Object.fromEntries(Object.entries(ENTRIES).map(([name, file]) => [name, join(root, file)])),
    platform: 'node',
    // It loads a binary from beside itself.
    external: /^sodium-native/,
    resolve: { conditionNames: ['parley-source', 'node', 'import', 'default'] },
    logLevel: 'silent',
  })
  await bundle.write({ dir: join(aside, 'dist'), format: 'esm', entryFileNames: '[name].js' })
  await bundle.close()
  const { version } = JSON.parse(readFileSync(join(root, 'packages/cli/package.json'), 'utf8'))
  writeFileSync(join(aside, 'package.json'), JSON.stringify({ type: 'module', version }))
  // Tests start nodes as other users, too.
  chmodSync(aside, 0o755)
  try {
    renameSync(aside, place)
  } catch (thrown) {
    rmSync(aside, { recursive: true, force: true })
    if (!existsSync(place)) throw thrown
  }
}

function removeForgotten(): void {
  for (const name of readdirSync(cache).filter(each => /^(bundle|making)-/.test(each))) {
    const found = statSync(join(cache, name), { throwIfNoEntry: false })
    if (found && Date.now() - found.mtimeMs > FORGOTTEN)
      rmSync(join(cache, name), { recursive: true, force: true })
  }
}
