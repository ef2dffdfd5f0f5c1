// A worktree has no node_modules. This lends it those of the user's project: folders of links, removed afterwards.
// Packages that are part of the project itself are linked to their sources in the worktree, so that what is tested is
// what is to be released.
import {
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { project } from './installed.mjs'

/** Lends node_modules to the current folder and to each package in it. Answers how to take them back. */
export function borrowModules(files) {
  const here = realpathSync(process.cwd())
  const there = existsSync(project) ? realpathSync(project) : here
  if (here === there) return () => {}
  const packages = new Set([
    '.',
    ...files.filter(({ path }) => /(?:^|\/)package\.json$/.test(path)).map(({ path }) => dirname(path)),
  ])
  const made = []
  for (const folder of packages) {
    const source = join(there, folder, 'node_modules')
    const target = join(here, folder, 'node_modules')
    if (!existsSync(source) || existsSync(target)) continue
    made.push(target)
    lend(source, target, there, here)
  }
  return () => {
    // Removes the links, never what they lead to.
    for (const folder of made) rmSync(folder, { recursive: true, force: true })
  }
}

function lend(source, target, there, here) {
  mkdirSync(target)
  for (const name of readdirSync(source)) {
    const from = join(source, name)
    const to = join(target, name)
    if (name === '.bin' || name.startsWith('@')) lend(from, to, there, here)
    // Caches are written to, which must not reach the project; small files, such as the list of what is installed, are
    // copied.
    else if (name.startsWith('.') && name !== '.pnpm') copyFile(from, to)
    else symlinkSync(destination(from, there, here), to, kindOf(from))
  }
}

function copyFile(from, to) {
  if (lstatSync(from).isFile()) copyFileSync(from, to)
}

/** The same file here where it is a part of the project, or the installed one. */
function destination(path, there, here) {
  const real = existsSync(path) ? realpathSync(path) : path
  const inside = relative(there, real)
  const installed = inside.startsWith('..') || inside.split(sep).includes('node_modules')
  return installed ? path : resolve(here, inside)
}

function kindOf(path) {
  return existsSync(path) && statSync(path).isDirectory() ? 'junction' : 'file'
}
