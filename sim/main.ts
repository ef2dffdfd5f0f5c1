// `npm run sim -- --seed N --steps M [--seeds K] [--script S] [--json]`: simulates seeds, shows progress and a summary. A seed that
// fails is shrunk to a short script, which is printed with the command that runs it. Exit codes: 0 sound, 1 broken, 2 wrong use.
import { parseArgs } from 'node:util'
import { isAction, planOf } from './actions.ts'
import { actionsOf, scriptOf, shrink } from './shrink.ts'
import { type Outcome, simulate } from './simulate.ts'
import { Statistics } from './statistics.ts'

const USAGE = `usage: npm run sim -- [--seed N] [--steps M] [--seeds K] [--script S] [--no-shrink] [--json]

  --seed N      the first seed (1)
  --steps M     actions in each seed (300)
  --seeds K     how many seeds, one after another (1)
  --script S    these actions instead of the seed's own, as a failure prints them
  --trace       show every action before it is carried out`

const { values } = parse()
const seed = Number(values.seed)
const steps = Number(values.steps)
const seeds = Number(values.seeds)
if (values.help || ![seed, steps, seeds].every(Number.isSafeInteger)) wrongUse()
const script = values.script === undefined ? undefined : actionsOf(values.script)
if (script?.some(({ kind }) => !isAction(kind))) wrongUse()

function parse() {
  try {
    return parseArgs({
      options: {
        seed: { type: 'string', default: '1' },
        steps: { type: 'string', default: '300' },
        seeds: { type: 'string', default: '1' },
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

for (let current = seed; current < seed + seeds; current++) {
  const actions = script ?? planOf(current, steps)
  const outcome = await simulate(current, actions, onStep ? { onStep } : {})
  total.add(outcome.statistics)
  if (outcome.failure) await report(current, actions, outcome)
  if (!values.json && seeds > 1 && (current - seed) % 20 === 19) progress(current)
}
summary()

function elapsed(): number {
  return (performance.now() - began) / 1000
}

function progress(current: number): void {
  const speed = Math.round(total.steps / elapsed())
  console.log(`seed ${current}: ${total.steps} steps, ${total.entries} entries, ${speed} steps/s`)
}

async function report(failing: number, actions: ReturnType<typeof planOf>, outcome: Outcome): Promise<never> {
  const shrunk = values['no-shrink']
    ? { actions, outcome, attempts: 0 }
    : await shrink(failing, actions, outcome)
  const failure = shrunk.outcome.failure!
  const command = `npm run sim -- --seed ${failing} --script ${scriptOf(shrunk.actions)}`
  if (values.json)
    console.log(JSON.stringify({ seed: failing, failure, script: scriptOf(shrunk.actions), command }))
  else {
    console.log(`seed ${failing} broke: ${outcome.failure!.invariant}\n  ${outcome.failure!.detail}`)
    console.log(
      `after ${shrunk.attempts} attempts, ${shrunk.actions.length} of ${actions.length} actions are enough:`,
    )
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
    console.log(JSON.stringify({ ok: true, seed, seeds, seconds, speed, ...total }))
    return
  }
  console.log(
    `${seeds} seeds from ${seed}, ${total.steps} steps in ${seconds.toFixed(1)} s (${speed} steps/s): sound`,
  )
  console.log(`${total.entries} entries, ${total.crashes} crashes, ${total.restarts} restarts`)
  for (const [command, outcomes] of Object.entries(total.commands).sort()) {
    const shown = Object.entries(outcomes)
      .sort(([, one], [, other]) => other - one)
      .map(([outcome, count]) => `${outcome} ${count}`)
    console.log(`  ${command}: ${shown.join(', ')}`)
  }
}
