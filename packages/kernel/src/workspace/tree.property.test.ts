// What holds of the tree at every instant, whatever is asked (W-WS-10, -12, -13, W-SIG-11, W-TOPO-TREE-05).
import { type RunId, SeededIds, type Ticks, unwrap } from '@parley/core'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Decision, decide } from '../decide.ts'
import { evolve } from '../evolve.ts'
import { openSalvage } from '../integration/integration.ts'
import { newRun, type Run } from '../run/run.ts'
import { anyStep, commandOf, prologue, randomTaxonomy } from '../testing/random-commands.ts'
import { childrenOf, ended, isAbove } from './workspace.ts'

const RUNS = process.env.PARLEY_SOAK ? 10_000 : 200
const steps = fc.array(anyStep, { minLength: 1, maxLength: 80, size: 'max' })

class Bare {
  readonly run: Run = newRun('run_1' as RunId)
  #count = 0

  ask(command: Parameters<typeof decide>[1], carriesSignals = false): Decision {
    const now = (1_772_355_900_000_000 + this.#count * 1000) as Ticks
    const decision = decide(this.run, command, { now, ids: new SeededIds(this.#count++), carriesSignals })
    for (const record of [...decision.objects, ...decision.entries]) evolve(this.run, record)
    return decision
  }
}

/** What is wrong with the tree; a look at every workspace after every step must be quick. */
function* flaws(run: Run): Generator<string> {
  const all = [...run.workspaces.values()]
  for (const each of all) {
    const { id, parent } = each
    if ((parent === null) !== (each === run.root)) yield `${id} has no parent and is not the root`
    if (isAbove(each, each)) yield `${id} lies below itself`
    if (each.orphan && parent !== run.root) yield `${id} is an orphan and not with the root`
    if (parent && childrenOf(parent).filter(child => child === each).length !== 1)
      yield `${id} is not just once among the children of its parent`
    if (parent && !ended(each) && ended(parent)) yield `${id} outlives its parent`
    const born = childrenOf(each).map(child => child.created)
    if (born.some((at, index) => index > 0 && at < born[index - 1]!)) yield `${id} mixes up its children`
    for (const signal of each.waiting ?? []) {
      if (ended(run.workspaces.get(signal.to)!)) yield `${signal.id} waits for one that has ended`
      if (signal.upward && signal.to !== parent?.id) yield `${signal.id} does not wait for the parent`
    }
    if (run.signalling.has(each) !== (each.waiting !== undefined)) yield `${id} waits unseen`
    if (each.integration && each.integration.target !== parent) yield `${id} is merged into another`
    const holder = each.merging && (openSalvage(run, each.merging.id) ?? each.merging.integration)
    if (each.merging && holder?.target !== each) yield `${id} is locked by nobody`
    if (each.group !== null && !run.groups.get(each.group)?.includes(each)) yield `${id} lost its group`
  }
}

test('W-WS-12 the tree stays one tree, nobody outlives a parent, and no signal waits for the dead', () => {
  fc.assert(
    fc.property(steps, fc.boolean(), (all, carriesSignals) => {
      const bare = new Bare()
      const draft = { taxonomy: randomTaxonomy, owner: 'ux', highway: 'off' }
      unwrap(bare.ask({ type: 'start', draft }).result)
      for (const command of prologue(bare.run)) unwrap(bare.ask(command).result)
      for (const step of all) {
        bare.ask(commandOf(bare.run, step), carriesSignals)
        expect([...flaws(bare.run)]).toEqual([])
      }
    }),
    { numRuns: RUNS },
  )
})
