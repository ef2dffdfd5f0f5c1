// `parley trail tiers`: what of the record lies where, how far the second copy follows, and what could not be done.
import { command } from '../command.ts'
import { EXIT } from '../exit.ts'
import { drawing, print } from '../output.ts'
import { tierLines } from '../render/tiers.ts'

export const trailTiers = command({
  name: 'trail tiers',
  summary: 'Show what of the record lies in which tier, and how the replica is',
  about:
    'hot: runs that go on. warm: runs that are over, at hand for as long as `trail.warm` in config.yaml says. cold: compressed archives, with a second copy where `trail.replica` names one. All of them are read and verified alike.',
  args: [],
  flags: {},
  examples: [
    ['parley trail tiers', 'entries, size, runs and age of each tier'],
    ['parley trail tiers --json', 'for a program'],
  ],
  async run(context) {
    const api = await context.connect()
    const tiers = await api.trailTiers()
    const { storage } = await api.status()
    print(context, { ...tiers, storage }, () => tierLines(tiers, storage, drawing(context)))
    return EXIT.done
  },
})
