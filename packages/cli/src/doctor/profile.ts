// Checks of the profile: its folder and who may read it, the disk, the socket's path, the configuration, the key, and
// the daily ledger. An unreadable ledger stops every turn of a profile with a budget.
import { dirname, join } from 'node:path'
import { type MachineCode, type MachineFault, machineFaultText, ParleyError, type Result } from '@parley/core'
import { type Config, configProblems, ledgerProblem } from '@parley/node'
import { bytes, plural } from '../render/format.ts'
import { oneLine } from '../render/text.ts'
import { type FileFacts, type Finding, ok, type Probes, problem, warning } from './check.ts'
import { doctorLimits } from './limits.ts'

export function folder(probes: Probes, paths: Config['paths']): Finding {
  const found = probes.file(paths.folder)
  if (!found) return unmade(probes, paths)
  const elsewhere = 'Choose another place with PARLEY_HOME, or another profile with --profile.'
  if (!found.folder) return problem('profile', `${paths.folder} is not a folder`, elsewhere)
  if (probes.user !== undefined && found.owner !== probes.user)
    return problem('profile', `${paths.folder} belongs to another user`, elsewhere)
  const fault = probes.writeFault(paths.folder)
  if (fault) return faulty(paths.folder, fault)
  const closed = unwritable(probes, paths)
  if (closed === undefined) return ok('profile', paths.folder)
  return problem(
    'profile',
    `${closed} cannot be written`,
    `Restore your write permission: chmod -R u+w ${paths.folder}`,
  )
}

function faulty(place: string, { code }: MachineFault): Finding {
  const remedy = `${faultRemedy(code)}${code === 'EROFS' ? '' : ' PARLEY_HOME names another place.'}`
  return problem('profile', `${place} cannot be written: ${machineFaultText({ code })}`, remedy)
}

export function faultRemedy(code: MachineCode): string {
  switch (code) {
    case 'EROFS':
      return 'Mount it writable again. Linux makes a disk read-only after an error: check the kernel’s messages (dmesg) and the file system first.'
    case 'EMFILE':
    case 'ENFILE':
      return 'Raise the limit of open files for the node (ulimit -n), or end programs that hold many files open.'
    case 'ENOMEM':
    case 'EAGAIN':
      return 'End programs that use a lot of memory or many processes.'
    default:
      return 'Free space there, or fix the disk.'
  }
}

/** The node repairs the mode of the folder itself, so the folders in it are checked, too. */
function unwritable(probes: Probes, paths: Config['paths']): string | undefined {
  const trail = join(paths.folder, 'trail')
  const index = join(paths.folder, 'trail.index.db')
  const known = [...probes.folders(paths.folder), ...probes.folders(trail), paths.log, paths.secret, index]
  const there = known.filter(path => probes.file(path) !== undefined)
  return [paths.folder, ...there].find(path => !probes.writable(path))
}

function unmade(probes: Probes, { folder }: Config['paths']): Finding {
  const place = nearest(probes, folder)
  const fault = probes.writeFault(place)
  if (fault) return faulty(place, fault)
  if (probes.writable(place)) return ok('profile', `${folder} is created by the first run`)
  return problem(
    'profile',
    `${folder} cannot be created: ${place} cannot be written`,
    'Choose another place with PARLEY_HOME, or give yourself write permission there.',
  )
}

/** The folder itself, or the first above it that is there. */
function nearest(probes: Probes, folder: string): string {
  let place = folder
  while (!probes.file(place) && dirname(place) !== place) place = dirname(place)
  return place
}

/** The secret makes tokens, and anyone who reaches the socket acts as the owner. */
export function permissions(probes: Probes, paths: Config['paths']): Finding {
  const alp = join(paths.folder, 'alp')
  const open = [
    { path: paths.folder, right: '700' },
    { path: paths.secret, right: '600' },
    { path: paths.socket, right: '600' },
    { path: join(alp, 'secrets', 'alp_key.pem'), right: '600' },
    { path: join(alp, 'secrets', 'replay.jsonl'), right: '600' },
    { path: join(alp, 'pending_peers.yaml'), right: '600' },
    { path: join(alp, 'alp.sock'), right: '600' },
  ].filter(({ path }) => {
    const found = probes.file(path)
    // A folder in place of a file is another problem, which chmod does not fix.
    const isMeant = found?.folder === (path === paths.folder)
    return found !== undefined && isMeant && (found.mode & 0o077) !== 0
  })
  if (open.length === 0) return ok('permissions', 'for you only')
  const names = open.map(({ path }) => path).join(', ')
  const remedy = open.map(({ path, right }) => `chmod ${right} ${path}`).join('; ')
  return problem('permissions', `other users can access ${names}`, remedy)
}

const HELD_MEANWHILE =
  'While the disk is full the node starts no turns and counts nothing as failed; it continues by itself when there is room.'

export function disk(probes: Probes, paths: Config['paths']): Finding {
  const place = nearest(probes, paths.folder)
  const free = probes.freeBytes(place)
  if (free === undefined) return warning('disk', `the free space in ${place} is not known`, 'Check it yourself: df -h')
  const inodes = probes.inodes(place)
  if (inodes && inodes.free < Math.min(doctorLimits.inodesLeast, inodes.all * doctorLimits.inodesPart))
    return problem(
      'disk',
      `${inodes.free} of ${inodes.all} inodes free, with ${bytes(free)} of space: hardly any file can be created`,
      `Remove files that are not needed, many small ones first (df -i ${place} counts them), or move the profile with PARLEY_HOME. ${HELD_MEANWHILE}`,
    )
  const text = `${bytes(free)} free`
  const remedy = `Free some space, or move the profile with PARLEY_HOME. ${HELD_MEANWHILE}`
  if (free < doctorLimits.diskLeast) return problem('disk', text, remedy)
  return free < doctorLimits.diskEnough ? warning('disk', text, remedy) : ok('disk', text)
}

export function socket(probes: Probes, paths: Config['paths']): Finding {
  const own = join(paths.folder, 'call.sock')
  if (paths.socket === own) return ok('socket', own)
  const place = dirname(paths.socket)
  const found = probes.file(place)
  const wrong = found && notOurs(probes, found)
  if (wrong) {
    return problem(
      'socket',
      `the path of the profile is too long for a socket, and ${place} ${wrong}: neither a node nor a command uses it`,
      wrong.startsWith('has mode')
        ? `If nobody else put anything there, close it: chmod 700 ${place}`
        : 'Choose a shorter place with PARLEY_HOME.',
    )
  }
  return ok('socket', `${paths.socket}, since the path of the profile is too long for one`)
}

/** The same rules as those of the node and of every command. */
function notOurs({ user }: Probes, { folder, owner, mode }: FileFacts): string | undefined {
  if (!folder) return 'is not a folder'
  if (user !== undefined && owner !== user) return 'belongs to another user'
  return (mode & 0o077) === 0 ? undefined : `has mode ${mode.toString(8)} instead of 700`
}

export function configuration(loaded: Result<Config>): Finding {
  if (loaded.ok) {
    const said = loaded.value.entries.filter(({ from }) => from !== 'default').length
    return ok(
      'configuration',
      said === 0
        ? 'all settings have their defaults'
        : `${plural(said, 'setting')} given, the others have their defaults`,
    )
  }
  const problems = loaded.error instanceof ParleyError ? configProblems(loaded.error) : []
  const where = problems[0] ?? loaded.error.message
  const more = problems.length > 1 ? ` (and ${problems.length - 1} more)` : ''
  return problem('configuration', `${where}${more}`, 'Fix it there. Until then no node starts.')
}

export function key(wrong: ParleyError | undefined, exists: boolean): Finding {
  if (!wrong) return ok('key', exists ? 'matches the profile' : 'none yet; the first node makes one')
  const [what, ...next] = oneLine(wrong.message).split(/(?<=\.) (?=Restore )/)
  return problem(
    'key',
    `${what} (${wrong.code})`,
    next.join(' ') || 'Look at the files in alp/secrets and at trail/keys.json. Until then no node starts.',
  )
}

export function ledger(profile: string): readonly Finding[] {
  const damage = ledgerProblem(profile)
  return damage ? [problem('ledger', oneLine(damage.problem), damage.remedy)] : []
}
