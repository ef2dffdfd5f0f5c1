// Checks of the machine: Node.js, git, limits, the clock.
import { type Clock, ticksPerMillisecond } from '@parley/core'
import { oneLine } from '../render/text.ts'
import { type Finding, ok, type Probes, problem, warning } from './check.ts'
import { doctorLimits } from './limits.ts'

export function nodeVersion({ runtime }: Probes): Finding {
  const major = Number(/^v?(\d+)/.exec(runtime)?.[1] ?? 0)
  if (major >= doctorLimits.node) return ok('Node.js', runtime)
  return problem('Node.js', `${runtime} is too old`, `Install Node.js ${doctorLimits.node} LTS or newer.`)
}

export async function git(probes: Probes): Promise<Finding> {
  const printed = await probes.output('git', '--version')
  if (printed === undefined) {
    return problem('git', 'is not on PATH or does not run', 'Install git 2.38 or newer; workspaces need it.')
  }
  const [, major = '0', minor = '0'] = /(\d{1,9})\.(\d{1,9})/.exec(printed) ?? []
  const [wantedMajor, wantedMinor] = doctorLimits.git
  const enough = Number(major) > wantedMajor || (Number(major) === wantedMajor && Number(minor) >= wantedMinor)
  const version = printed.trim().replace(/^git version /, '')
  if (enough) return ok('git', version)
  return problem('git', `${version} is too old`, `Install git ${doctorLimits.git.join('.')} or newer: merges need it.`)
}

/** `git commit` and `parley apply` make commits in the user's name; agents have one of their own. */
export async function gitIdentity(probes: Probes, folder: string): Promise<readonly Finding[]> {
  const asked = (...args: readonly string[]) => probes.output('git', '-C', folder, ...args)
  if ((await asked('rev-parse', '--git-dir')) === undefined) return []
  const [name, email] = [await asked('config', '--get', 'user.name'), await asked('config', '--get', 'user.email')]
  if (name?.trim() && email?.trim()) return [ok('git user', `${oneLine(name)} <${oneLine(email)}>`)]
  const lacks = [...(name?.trim() ? [] : ['user.name']), ...(email?.trim() ? [] : ['user.email'])]
  return [
    warning(
      'git user',
      `${lacks.join(' and ')} not set: \`git commit\` and \`parley apply\` do not know who commits here`,
      lacks
        .map(key => `\`git config --global ${key} ${key === 'user.name' ? '"Your Name"' : 'you@example.org'}\``)
        .join(', '),
    ),
  ]
}

/** Many agents at once need many of both. */
export function limits(probes: Probes): readonly Finding[] {
  const files = /^Max open files\s+(\S+)/m.exec(probes.text('/proc/self/limits') ?? '')?.[1]
  const watches = probes.text('/proc/sys/fs/inotify/max_user_instances')?.trim()
  const { openFiles, watches: enough } = doctorLimits
  const fewFiles = `Raise the limit to ${openFiles} or more: ulimit -n ${openFiles}`
  const fewWatches = `Raise fs.inotify.max_user_instances to ${enough} or more; agents' tools use them.`
  return [
    ...(files === undefined ? [] : [atLeast('open files', files, '', openFiles, fewFiles)]),
    ...(watches === undefined ? [] : [atLeast('file watches', watches, ' instances', enough, fewWatches)]),
  ]
}

function atLeast(check: string, found: string, unit: string, enough: number, remedy: string): Finding {
  const text = `at most ${found}${unit}`
  return Number(found) < enough ? warning(check, text, remedy) : ok(check, text)
}

export function clock(now: Clock, newest: number | undefined): Finding {
  const time = now.now() / ticksPerMillisecond
  const shown = new Date(time).toISOString()
  const remedy = 'Set the clock, ideally with a time service; entries of the record carry its time.'
  if (time < doctorLimits.earliest || time > doctorLimits.latest) return problem('clock', `says ${shown}`, remedy)
  if (newest !== undefined && newest > time + doctorLimits.ahead) {
    return warning(
      'clock',
      `says ${shown}, but files of the profile date from ${new Date(newest).toISOString()}`,
      remedy,
    )
  }
  return ok('clock', shown)
}
