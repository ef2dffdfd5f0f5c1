// A network namespace with nothing but loopback: what a program would send home goes nowhere.
import { spawn, spawnSync } from 'node:child_process'

const MARK = 'PARLEY_CLIS_ISOLATED'
const ENTER = ['sh', '-c', 'ip link set lo up && exec "$@"', 'sh']

export const isolated = process.env[MARK] === '1'

/** The command that runs another one without a network; undefined where this machine has none. */
function wrapper(): readonly string[] | undefined {
  const root = process.getuid?.() === 0
  const all = [...(root ? [['unshare', '--net']] : []), ['unshare', '--user', '--map-root-user', '--net']]
  return all
    .map(unshare => [...unshare, ...ENTER])
    .find(([program, ...args]) => spawnSync(program!, [...args, 'true'], { stdio: 'ignore' }).status === 0)
}

/** This program once more, without a network; its exit code. Undefined where that cannot be had. */
export async function rerunIsolated(): Promise<number | undefined> {
  const [program, ...args] = wrapper() ?? []
  if (program === undefined) return undefined
  const own = [process.execPath, ...process.execArgv, ...process.argv.slice(1)]
  const child = spawn(program, [...args, ...own], { stdio: 'inherit', env: { ...process.env, [MARK]: '1' } })
  // A terminal sends Ctrl-C to both; here it only must not end the waiting.
  process.on('SIGINT', () => {})
  for (const signal of ['SIGTERM', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal))
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code, signal) => resolve(code ?? (signal === null ? 1 : 130)))
  })
}
