// The command and the node as a few files instead of hundreds: what `bin/parley` runs, what tests start, and what is
// published. Made again when a source has changed.
import { hash } from 'node:crypto'
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
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'

const root = join(import.meta.dirname, '..', '..', '..', '..')
const cache = join(root, '.cache')
/** A node or a turn may still load from a bundle that nobody asked for again. */
const KEPT_MS = 7 * 24 * 3_600_000
const KEPT = 100

/** Large programs: a first file switches V8's compile cache on before the code is read. */
const PROGRAMS: Readonly<Record<string, string>> = {
  parley: 'packages/cli/src/parley.ts',
  main: 'packages/node/src/main.ts',
}
/** A node that behaves oddly, for tests. */
const ODD = { 'odd-main': 'packages/node/src/testing/odd-main.ts' }
/** Small programs and threads. All are found by the names that their starters look for beside themselves. */
const PARTS: Readonly<Record<string, string>> = {
  'index-worker': 'packages/alx/src/select/index-worker.ts',
  'loop-watch-thread': 'packages/node/src/log/loop-watch-thread.ts',
  'program-server': 'packages/agents/src/programs/program-server.ts',
  'signing-thread': 'packages/trail/src/signing-thread.ts',
  'sqlite-worker': 'packages/trail/src/index/sqlite-worker.ts',
}

export interface Bundled {
  readonly folder: string
  /** The command. */
  readonly parley: string
  /** The node. */
  readonly main: string
  /** A node that behaves oddly. */
  readonly oddMain: string
}

export async function bundled(): Promise<Bundled> {
  const began = new Date()
  // The guides are found two folders above, as from the sources.
  const folder = join(cache, `bundle-${fingerprint()}`)
  if (!existsSync(folder)) await make(folder)
  // Whatever is newer than this is not in it.
  utimesSync(join(folder, 'made'), began, began)
  utimesSync(folder, began, began)
  removeForgotten(folder)
  const file = (name: string) => join(folder, 'dist', `${name}.js`)
  return { folder, parley: file('parley'), main: file('main'), oddMain: file('odd-main') }
}

/** `bin/parley` runs this bundle from now on, on this Node. */
export function makeCurrent(folder: string): void {
  const aside = mkdtempSync(join(cache, 'making-'))
  symlinkSync(basename(folder), join(aside, 'current'), 'junction')
  renameSync(join(aside, 'current'), join(cache, 'current'))
  rmSync(aside, { recursive: true })
}

/** Of the sources as they are, and of the Node that runs them. */
function fingerprint(): string {
  const files = globSync(['packages/*/src/**/*.ts', 'packages/*/package.json', 'package-lock.json'], { cwd: root })
  const parts = files.toSorted().map(file => `${file} ${hash('sha256', readFileSync(join(root, file)))}`)
  return hash('sha256', [process.execPath, ...parts].join('\n')).slice(0, 16)
}

/** Beside its place and then moved there: somebody else may make the same at this moment. */
async function make(place: string): Promise<void> {
  mkdirSync(cache, { recursive: true })
  const aside = mkdtempSync(join(cache, 'making-'))
  const dist = join(aside, 'dist')
  await writeBundle(dist, { ...PROGRAMS, ...ODD })
  const { version } = JSON.parse(readFileSync(join(root, 'packages/cli/package.json'), 'utf8'))
  writeFileSync(join(aside, 'package.json'), JSON.stringify({ type: 'module', version }))
  writeFileSync(join(aside, 'made'), '')
  writeFileSync(join(aside, 'exec-path'), `${process.execPath}\n`)
  // Tests start nodes as other users, too.
  chmodSync(aside, 0o755)
  try {
    renameSync(aside, place)
  } catch (thrown) {
    rmSync(aside, { recursive: true, force: true })
    if (!existsSync(place)) throw thrown
  }
}

/** As it is published, unless other programs are named. */
export async function writeBundle(dist: string, programs = PROGRAMS): Promise<void> {
  const { rolldown } = await import('rolldown')
  const large = Object.entries(programs).map(([name, file]) => [`${name}-program`, join(root, file)])
  const parts = Object.entries(PARTS).map(([name, file]) => [name, join(root, file)])
  const bundle = await rolldown({
    cwd: root,
    input: Object.fromEntries([...large, ...parts]),
    platform: 'node',
    // They load a binary, or pages, from beside themselves.
    external: /^(?:sodium-native|fastify$|@fastify\/|prom-client$)/,
    resolve: { conditionNames: ['parley-source', 'node', 'import', 'default'] },
    logLevel: 'silent',
  })
  await bundle.write({
    dir: dist,
    format: 'esm',
    entryFileNames: '[name].js',
    // The engine keeps the text of what it runs: one character beyond Latin-1 would make each of a file take two bytes.
    charset: 'ascii',
    comments: { legal: true, annotation: false, jsdoc: false },
  })
  await bundle.close()
  for (const name of Object.keys(programs)) writeFileSync(join(dist, `${name}.js`), firstFile(name))
}

/**
 * What compiling yields is kept beside the bundle, where nobody but the owner of the code can write. Then the heap is
 * collected once: an idle node allocates too little for V8 to give back what its start took.
 */
function firstFile(name: string): string {
  return `#!/usr/bin/env node
import { enableCompileCache, flushCompileCache } from 'node:module'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
enableCompileCache(\`\${import.meta.dirname}/../compiled\`)
setTimeout(() => {
  flushCompileCache()
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
}, 3000).unref()
await import('./${name}-program.js')
`
}

function removeForgotten(current: string): void {
  const found = readdirSync(cache)
    .filter(name => /^(bundle|making)-/.test(name) && join(cache, name) !== current)
    .map(name => ({ name, at: statSync(join(cache, name), { throwIfNoEntry: false })?.mtimeMs ?? 0 }))
    .toSorted((one, other) => other.at - one.at)
  for (const [index, { name, at }] of found.entries())
    if (index >= KEPT || Date.now() - at > KEPT_MS) rmSync(join(cache, name), { recursive: true, force: true })
}
