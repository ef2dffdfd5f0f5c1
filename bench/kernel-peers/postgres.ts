// A PostgreSQL server of its own, from the operating system's package: a new cluster in a temporary folder, reachable
// through a Unix socket in that folder and through no port.
import { execFile, execFileSync, spawnSync } from 'node:child_process'
import { existsSync, globSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import type { Leftovers } from './leftovers.ts'
import { type Owner, startServer, temporaryFolder } from './server.ts'

export interface Postgres {
  readonly version: string
  /** For a database of this name, which need not exist yet. */
  url(database: string): string
}

/** Debian keeps the server's programs out of PATH, a folder for each major version. */
function programs(): string {
  const debian = globSync('/usr/lib/postgresql/*/bin').sort((a, b) => b.localeCompare(a, 'en', { numeric: true }))
  const found = [...debian, ...(process.env.PATH ?? '').split(delimiter)].find(folder =>
    existsSync(join(folder, 'initdb')),
  )
  if (found === undefined) {
    throw new Error("there is no PostgreSQL server here; on Debian, 'apt-get install postgresql' brings it")
  }
  return found
}

/** PostgreSQL refuses to run as root; its package brings a user for it. */
function owner(): Owner | undefined {
  if (process.getuid?.() !== 0) return undefined
  const id = (option: string) => Number(execFileSync('id', [option, 'postgres'], { encoding: 'utf8' }))
  return { uid: id('-u'), gid: id('-g') }
}

/**
 * Nothing is tuned: the settings are those of a new cluster, with fsync and synchronous_commit on. Only the owner of
 * the folder and root reach the socket, so that no password is needed.
 */
export async function startPostgres(leftovers: Leftovers): Promise<Postgres> {
  const bin = programs()
  const user = owner()
  const folder = temporaryFolder(leftovers, user)
  const data = join(folder, 'data')
  const options = { ...user, cwd: folder, env: { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' } }
  execFileSync(
    join(bin, 'initdb'),
    ['-D', data, '--username=postgres', '--auth=trust', '--encoding=UTF8', '--no-instructions'],
    { ...options, stdio: ['ignore', 'ignore', 'pipe'] },
  )
  await startServer(
    leftovers,
    join(bin, 'postgres'),
    ['-D', data, '-c', `unix_socket_directories=${folder}`, '-c', 'listen_addresses='],
    options,
    // Not a signal from here: its processes must be gone before the folder is.
    () =>
      spawnSync(join(bin, 'pg_ctl'), ['stop', '-D', data, '-m', 'immediate'], {
        ...options,
        stdio: 'ignore',
      }),
    () =>
      new Promise(resolve => {
        execFile(join(bin, 'pg_isready'), ['-q', '-h', folder, '-d', 'postgres'], options, error => resolve(!error))
      }),
  )
  const version = execFileSync(join(bin, 'postgres'), ['--version'], { ...options, encoding: 'utf8' })
  return {
    version: /\d+(\.\d+)*/.exec(version)?.[0] ?? 'of unknown version',
    url: database => `postgresql://postgres@localhost/${database}?host=${encodeURIComponent(folder)}`,
  }
}
