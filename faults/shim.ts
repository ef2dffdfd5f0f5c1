// The preload library, compiled where it is used.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { orInstalled } from '@parley/call/testing'

const SOURCE = join(import.meta.dirname, 'shim', 'shim.c')

function findCompiler(): string | undefined {
  const folders = (process.env.PATH ?? '/usr/bin').split(delimiter)
  const found = folders.flatMap(folder => ['cc', 'gcc'].map(name => join(folder, name))).find(existsSync)
  // The compiler without the C library's headers is of no use.
  return found !== undefined && existsSync('/usr/include/stdio.h') ? found : undefined
}

/** Its path, compiled into the folder; undefined where it cannot be had, and why is said. */
export function compiledShim(folder: string): string | undefined {
  if (process.platform !== 'linux') {
    console.warn('no faults of single files here: the preload library is for Linux')
    return undefined
  }
  const compiler = orInstalled('gcc', () => orInstalled('libc6-dev', findCompiler))
  if (compiler === undefined) {
    console.warn(
      "no C compiler here: faults of single files are left out; on Debian, 'apt-get install gcc libc6-dev' brings it",
    )
    return undefined
  }
  const library = join(folder, 'faults.so')
  const flags = ['-O1', '-Wall', '-Wextra', '-Werror', '-shared', '-fPIC', '-o', library, SOURCE, '-ldl']
  const { status, stderr } = spawnSync(compiler, flags, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`the preload library does not compile:\n${stderr}`)
  return library
}
