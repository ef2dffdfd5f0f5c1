// `npm run faults -- --seed N --faults M [--kind K]`, or `--seeds A-B`: lives of a node under faults, and a table of
// what was found. Exit codes: 0 sound, 1 something was found, 2 wrong use.
import { parseArgs } from 'node:util'
import { KINDS } from './kinds.ts'
import { faultLimits } from './limits.ts'
import { failureText, liveRange, tableOf, withGround } from './range.ts'

const USAGE = `usage: npm run faults -- [--seed N | --seeds A-B] [--faults M] [--kind K …] [--jobs J] [--progress FILE]

  --seed N         one life (1)
  --seeds A-B      a range of lives
  --faults M       faults in each life (${faultLimits.faults})
  --kind K         only this kind of fault; may be repeated
  --not-kind K     not this kind; may be repeated. A * at the end stands for anything
  --jobs J         lives at once (2 for a range)
  --progress FILE  remembers the lives that are over: a range that was stopped goes on where it stood

Kinds: ${Object.keys(KINDS).join(', ')}`

const { values } = parse()
const [first, last] = range(values.seeds ?? values.seed ?? '1')
const faults = count('faults', values.faults ?? String(faultLimits.faults), faultLimits.faults)
const jobs = count('jobs', values.jobs ?? (first === last ? '1' : '2'), 16)
const kinds = Object.keys(KINDS).filter(
  kind =>
    (values.kind ?? ['*']).some(pattern => fits(kind, pattern)) &&
    !(values['not-kind'] ?? []).some(pattern => fits(kind, pattern)),
)
if (kinds.length === 0) wrong('no kind of fault is left')
for (const pattern of [...(values.kind ?? []), ...(values['not-kind'] ?? [])])
  if (!Object.keys(KINDS).some(kind => fits(kind, pattern))) wrong(`there is no kind '${pattern}'`)

const stopped = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stopped.abort())

const began = performance.now()
const outcomes = await withGround(ground =>
  liveRange(
    {
      first,
      last,
      faults,
      kinds,
      jobs,
      keep: true,
      signal: stopped.signal,
      ...(values.progress !== undefined && { progress: values.progress }),
    },
    ground,
    outcome => {
      const { seed, failure, runs, entries, seconds, histories } = outcome
      const injected = Object.values(histories).reduce((sum, each) => sum + each, 0)
      console.log(
        `seed ${seed}: ${injected} faults, ${runs} runs, ${entries} entries, ${seconds.toFixed(1)} s${failure ? ': FOUND' : ''}`,
      )
      if (failure) console.log(failureText(outcome, faults))
    },
  ),
)
console.log(tableOf(outcomes).join('\n'))
console.log(`${((performance.now() - began) / 1000).toFixed(1)} s`)
if (stopped.signal.aborted) console.log('stopped: lives that were at work are not counted')
process.exitCode = outcomes.some(({ failure }) => failure) ? 1 : 0

function fits(kind: string, pattern: string): boolean {
  return pattern.endsWith('*') ? kind.startsWith(pattern.slice(0, -1)) : kind === pattern
}

function range(text: string): [number, number] {
  const parts = /^(\d+)(?:-(\d+))?$/.exec(text)
  const [from, to] = [Number(parts?.[1]), Number(parts?.[2] ?? parts?.[1])]
  return parts && from <= to ? [from, to] : wrong(`'${text}' is no seed and no range of seeds such as 1-400`)
}

function count(name: string, text: string, most: number): number {
  const value = Number(text)
  return Number.isInteger(value) && value >= 1 && value <= most
    ? value
    : wrong(`--${name} must be a number from 1 to ${most}`)
}

function parse() {
  try {
    return parseArgs({
      options: {
        seed: { type: 'string' },
        seeds: { type: 'string' },
        faults: { type: 'string' },
        kind: { type: 'string', multiple: true },
        'not-kind': { type: 'string', multiple: true },
        jobs: { type: 'string' },
        progress: { type: 'string' },
      },
    })
  } catch (thrown) {
    return wrong((thrown as Error).message)
  }
}

function wrong(message: string): never {
  console.error(`${message}\n\n${USAGE}`)
  process.exit(2)
}
