// `npm run sim -- --seeds A..B --steps M [--jobs J] [--script S] [--json]`: simulates seeds, in several processes where
// told so, shows progress and a summary. A seed that fails is shrunk to a short script, which is printed with the
// command that runs it. Exit codes: 0 sound, 1 broken, 2 wrong use.
import { parseArgs } from 'node:util'
import { isAction, planOf } from './actions.ts'
import { simulateInProcesses } from './jobs.ts'
import { actionsOf, scriptOf, shrink } from './shrink.ts'
import { type Outcome, simulate } from './simulate.ts'
import { Statistics } from './statistics.ts'

const USAGE = `usage: npm run sim -- [--seed N] [--seeds K | --seeds A..B] [--steps M] [--jobs J] [--script S] [--no-shrink] [--json]

  --seed N      the first seed (1)
  --seeds K     how many seeds, one after another (1)
  --seeds A..B  the seeds from A to B
  --steps M     actions in each seed (300)
  --jobs J      processes that share the seeds (1)
  --script S    these actions instead of the seed's own, as a failure prints them
  --trace       show every action before it is carried out`

const { values } = parse()
const range = rangeOf(values.seeds)
const first = range?.first ?? Number(values.seed)
const seeds = range?.count ?? Number(values.seeds)
const steps = Number(values.steps)
const jobs = Number(values.jobs)
if (values.help || ![first, steps, seeds, jobs].every(Number.isSafeInteger) || seeds < 1 || jobs < 1) wrongUse()
const script = values.script === undefined ? undefined : actionsOf(values.script)
if (script?.some(({ kind }) => !isAction(kind))) wrongUse()

function parse() {
  try {
    return parseArgs({
      options: {
        seed: { type: 'string', default: '1' },
        steps: { type: 'string', default: '300' },
        seeds: { type: 'string', default: '1' },
        jobs: { type: 'string', default: '1' },
        script: { type: 'string' },
        'no-shrink': { type: 'boolean', default: false },
        trace: { type: 'boolean', default: false },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    })
  } catch {
    return wrongUse()
  }
}

function rangeOf(text: string): { readonly first: number; readonly count: number } | undefined {
  const [, from, to] = /^(\d+)\.\.(\d+)$/.exec(text) ?? []
  return from === undefined ? undefined : { first: Number(from), count: Number(to) - Number(from) + 1 }
}

function wrongUse(): never {
  console.error(USAGE)
  process.exit(2)
}

const total = new Statistics()
const began = performance.now()
const onStep = values.trace
  ? (index: number, action: { kind: string; seed: number }) =>
      console.error(`${index} ${action.kind}:${action.seed.toString(36)}`)
  : undefined

if (jobs > 1 && !script) {
  const broken = await simulateInProcesses({ first, count: seeds, steps, jobs }, ({ done, statistics }) => {
    total.add(statistics)
    if (!values.json) progress(`${done} of ${seeds} seeds`)
  })
  if (broken !== undefined) await simulateOne(broken)
} else {
  for (let seed = first; seed < first + seeds; seed++) {
    await simulateOne(seed)
    if (!values.json && seeds > 1 && (seed - first) % 20 === 19) progress(`seed ${seed}`)
  }
}
summary()

async function simulateOne(seed: number): Promise<void> {
  const actions = script ?? planOf(seed, steps)
  const outcome = await simulate(seed, actions, onStep ? { onStep } : {})
  total.add(outcome.statistics)
  if (outcome.failure) await report(seed, actions, outcome)
}

function elapsed(): number {
  return (performance.now() - began) / 1000
}

function progress(where: string): void {
  const speed = Math.round(total.steps / elapsed())
  console.log(`${where}: ${total.steps} steps, ${total.entries} entries, ${speed} steps/s`)
}

async function report(failing: number, actions: ReturnType<typeof planOf>, outcome: Outcome): Promise<never> {
  const shrunk = values['no-shrink'] ? { actions, outcome, attempts: 0 } : await shrink(failing, actions, outcome)
  const failure = shrunk.outcome.failure!
  const command = `npm run sim -- --seed ${failing} --script ${scriptOf(shrunk.actions)}`
  if (values.json) console.log(JSON.stringify({ seed: failing, failure, script: scriptOf(shrunk.actions), command }))
  else {
    console.log(`seed ${failing} broke: ${outcome.failure!.invariant}\n  ${outcome.failure!.detail}`)
    console.log(`after ${shrunk.attempts} attempts, ${shrunk.actions.length} of ${actions.length} actions are enough:`)
    console.log(`  ${failure.detail}`)
    for (const { kind, seed: own } of shrunk.actions) console.log(`  ${kind}:${own.toString(36)}`)
    console.log(`run it again: ${command}`)
    if (failure.invariant === 'no exception') console.log(failure.stack)
  }
  process.exit(1)
}

function summary(): void {
  const seconds = elapsed()
  const speed = Math.round(total.steps / seconds)
  if (values.json) {
    console.log(JSON.stringify({ ok: true, seed: first, seeds, seconds, speed, ...total }))
    return
  }
  console.log(`${seeds} seeds from ${first}, ${total.steps} steps in ${seconds.toFixed(1)} s (${speed} steps/s): sound`)
  console.log(`${total.entries} entries, ${total.crashes} crashes, ${total.restarts} restarts`)
  for (const [command, outcomes] of Object.entries(total.commands).sort()) {
    const shown = Object.entries(outcomes)
      .sort(([, one], [, other]) => other - one)
      .map(([outcome, count]) => `${outcome} ${count}`)
    console.log(`  ${command}: ${shown.join(', ')}`)
  }
}
