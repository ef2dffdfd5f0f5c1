// bench/start: processor time of the command and of a node until it is ready, each beside bare Node in the same run,
// and the memory of an idle node. It runs `bin/parley` as a person does, and inside a turn as an agent does. Processor
// time is user and system, of the process and of everything that it waits for. Linux, with bash. npm run bench -- start
// [--rounds N] [--short]
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { machine, median, table } from './trail/measure.ts'

const { values } = parseArgs({ options: { rounds: { type: 'string' }, short: { type: 'boolean', default: false } } })
const ROUNDS = Number(values.rounds ?? (values.short ? 1 : 20))
/**
 * Milliseconds after which nothing of its start is going on in a node: it collects its heap after 3 s, and V8 returns
 * the pages 8 s later.
 */
const IDLE_AFTER = values.short ? 500 : 15_000
/** What each may cost, as a multiple of bare Node. */
const GOALS = { version: 3, runs: 6, ready: 15, checkpoint: 6 } as const
const GOAL_MB = 120

const root = join(import.meta.dirname, '..')
const parley = join(root, 'bin', 'parley')
const home = mkdtempSync(join(tmpdir(), 'parley-bench-start-'))
const profile = join(home, '.parley', 'default')
const env = {
  ...process.env,
  PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH}`,
  HOME: home,
  PARLEY_HOME: join(home, '.parley'),
  ALPI_NETWORK_HOST: '127.0.0.1',
  ALPI_ALP_TCP_PORT: '0',
}
const BARE = [process.execPath, '-e', '0'] as const
/** Prints seconds of user and system time on standard error. */
const TIMED = 'TIMEFORMAT="%3U %3S"; time "$@" > /dev/null'

/** Milliseconds in a line of bash's `time`. */
const millisecondsIn = (line: string) => line.split(' ').reduce((sum, part) => sum + Number(part) * 1000, 0)

function processorTime(...command: readonly string[]): number {
  const { status, stderr } = spawnSync('bash', ['-c', TIMED, 'bash', ...command], { env, cwd: home, encoding: 'utf8' })
  if (status !== 0) throw new Error(`${command.join(' ')} ended with ${status}: ${stderr}`)
  return millisecondsIn(stderr.trimEnd().split('\n').at(-1)!)
}

const run = (...words: readonly string[]) => execFileSync(parley, words, { env, cwd: home, encoding: 'utf8' })

/** On a busy machine a node may take longer than the command waits for it: then it is asked for again. */
function startNode(): void {
  for (let tries = 5; ; tries--) {
    const { status, stderr } = spawnSync(parley, ['up', '--detach'], { env, cwd: home, encoding: 'utf8' })
    if (status === 0) return
    if (tries === 1) throw new Error(`no node starts: ${stderr}`)
  }
}

function nodeProcess(): number {
  return (JSON.parse(readFileSync(join(profile, 'node.json'), 'utf8')) as { pid: number }).pid
}

interface ProcessFacts {
  readonly pid: number
  readonly parent: number
  /** Milliseconds, of all threads and of children that have ended. */
  readonly processor: number
  readonly bytes: number
}

const TICK = 1000 / Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }))
const PAGE = Number(execFileSync('getconf', ['PAGESIZE'], { encoding: 'utf8' }))

/** From proc(5); nothing of one that has just ended. */
function factsOf(pid: number): ProcessFacts | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name of the program may hold anything; the fields behind it are counted from the state, which is the third.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const field = (number: number) => Number(fields[number - 3])
    const ticks = field(14) + field(15) + field(16) + field(17)
    return { pid, parent: field(4), processor: ticks * TICK, bytes: field(24) * PAGE }
  } catch {
    return undefined
  }
}

/** A process and all below it. */
function family(pid: number): readonly ProcessFacts[] {
  const all = readdirSync('/proc').flatMap(name => (/^\d+$/.test(name) ? (factsOf(Number(name)) ?? []) : []))
  const found = all.filter(each => each.pid === pid)
  for (const each of found) found.push(...all.filter(({ parent }) => parent === each.pid))
  return found
}

/** Processes that work in a folder: a node that was too slow to answer is not known by any file. */
function inside(folder: string): readonly number[] {
  return readdirSync('/proc').flatMap(name => {
    try {
      return /^\d+$/.test(name) && readlinkSync(`/proc/${name}/cwd`).startsWith(folder) ? Number(name) : []
    } catch {
      return []
    }
  })
}

const sum = (numbers: readonly number[]) => numbers.reduce((one, other) => one + other, 0)

/** Processor times of `parley ws checkpoint` inside one turn, each behind a change, and of bare Node beside them. */
function checkpoints(): { readonly checkpoint: number[]; readonly bare: number[] } {
  const project = join(home, 'project')
  const told = join(home, 'told')
  mkdirSync(project)
  const git = (...words: readonly string[]) => execFileSync('git', words, { cwd: project, env })
  git('init', '--quiet')
  const who = ['-c', 'user.name=Bench', '-c', 'user.email=bench@localhost']
  git(...who, 'commit', '--quiet', '--allow-empty', '-m', 'first')
  const script = join(home, 'agent.sh')
  writeFileSync(
    script,
    `#!/usr/bin/env bash
set -e
TIMEFORMAT="%3U %3S"
for round in $(seq ${ROUNDS}); do
  echo "$round" > work.txt
  { time ${BARE.join(' ')}; } 2>> ${told}
  { time parley ws checkpoint "step $round" > /dev/null; } 2>> ${told}
done
`,
    { mode: 0o755 },
  )
  const team = join(home, 'parley.yaml')
  writeFileSync(team, `version: 1\nname: bench\nagents: { worker: { command: [${script}], timeout: 1h } }\n`)
  execFileSync(parley, ['solve', 'Measure.', '--team', team, '--yes'], {
    env,
    cwd: project,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const times = readFileSync(told, 'utf8').trimEnd().split('\n').map(millisecondsIn)
  return {
    bare: times.filter((_, index) => index % 2 === 0),
    checkpoint: times.filter((_, index) => index % 2 === 1),
  }
}

const seen = { bare: [] as number[], version: [] as number[], runs: [] as number[], ready: [] as number[] }
const memory: number[] = []
try {
  // Sets up what a first call sets up, and makes the profile.
  run('--version')
  for (let round = 0; round < ROUNDS; round++) {
    seen.bare.push(processorTime(...BARE))
    seen.version.push(processorTime(parley, '--version'))
    startNode()
    seen.ready.push(sum(family(nodeProcess()).map(({ processor }) => processor)))
    seen.bare.push(processorTime(...BARE))
    seen.runs.push(processorTime(parley, 'runs'))
    if (round === 0) {
      await new Promise(resolve => setTimeout(resolve, IDLE_AFTER))
      memory.push(...family(nodeProcess()).map(({ bytes }) => bytes / 1e6))
    }
    run('down')
  }
  startNode()
  const { bare, checkpoint } = checkpoints()
  const all = [...seen.bare, ...bare]
  const row = (name: string, times: readonly number[], goal: number) => {
    const ratio = median(times) / median(all)
    return [name, median(times).toFixed(0), ratio.toFixed(1), `${goal}`, ratio <= goal ? 'met' : 'missed']
  }
  console.log(`${new Date().toISOString().slice(0, 10)}, ${machine()}; median of ${ROUNDS}\n`)
  console.log(
    table(
      ['processor time', 'ms', 'times bare Node', 'goal', ''],
      [
        ['node -e 0', median(all).toFixed(0), '1.0', '', ''],
        row('parley --version', seen.version, GOALS.version),
        row('parley runs, beside a running node', seen.runs, GOALS.runs),
        row('a node, until it answers', seen.ready, GOALS.ready),
        row('parley ws checkpoint, in a turn', checkpoint, GOALS.checkpoint),
      ],
    ),
  )
  const total = sum(memory)
  const verdict = values.short ? 'not idle yet' : total <= GOAL_MB ? 'met' : 'missed'
  console.log(
    `\nan idle node: ${total.toFixed(0)} MB resident in ${memory.length} processes (${memory.map(each => each.toFixed(0)).join(' + ')}), goal ${GOAL_MB} MB: ${verdict}`,
  )
} finally {
  spawnSync(parley, ['down'], { env, cwd: home, stdio: 'ignore' })
  for (const pid of inside(home)) process.kill(pid, 'SIGKILL')
  rmSync(home, { recursive: true, force: true })
}
