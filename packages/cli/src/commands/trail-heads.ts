// `parley trail heads`: the newest entry of every run, to be kept where whoever could change the record cannot change them too.
import { command } from '../command.ts'
import { EXIT } from '../exit.ts'
import { print, remark } from '../output.ts'
import type { HeadView } from '../views.ts'

export const trailHeads = command({
  name: 'trail heads',
  summary: 'Print the newest entry of every run, to hold the record against later',
  about:
    'One line for each run: RUN:SEQ:HASH. Keep them somewhere else. `parley trail verify --expect-head LINE` then finds out whether the record has lost or changed anything up to there, even if every copy on this machine was changed with it.',
  args: [],
  flags: {},
  examples: [
    ['parley trail heads > heads.txt', 'keep them elsewhere'],
    ["parley trail verify $(sed 's/^/--expect-head /' heads.txt)", 'and verify against them later'],
  ],
  async run(context) {
    const api = await context.connect()
    const heads: HeadView[] = []
    for await (const page of api.trailHeads()) heads.push(...page)
    print(context, { heads }, () => heads.map(({ run, seq, hash }) => `${run}:${seq}:${hash}`))
    if (heads.length === 0) remark(context, 'There is no run yet.')
    return EXIT.done
  },
})
