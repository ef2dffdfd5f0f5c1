// `parley trail heads`: the newest entry of every run, to be kept out of reach of anyone who could change the record.
import { command } from '../../command.ts'
import type { HeadView } from '../../node/views.ts'
import { print, remark } from '../../output.ts'

export default command({
  about:
    'One line for each run: RUN:SEQ:HASH. Keep them elsewhere. `parley trail verify --expect-head LINE` then tells whether the record has lost or changed anything up to that entry, even if every copy on this machine was changed.',
  examples: [
    ['parley trail heads > heads.txt', 'to be kept elsewhere'],
    ["parley trail verify $(sed 's/^/--expect-head /' heads.txt)", 'to verify against them later'],
  ],
  async run(context) {
    const heads: HeadView[] = []
    for await (const page of context.api.streams.trail.heads({})) heads.push(...page.heads)
    print(context, { heads }, () => heads.map(({ run, seq, hash }) => `${run}:${seq}:${hash}`))
    if (heads.length === 0) remark(context, 'There is no run yet.')
  },
})
