// The background process: a node that somebody's command needed. Its output goes to the profile's log.
import { NODE_EXIT } from './exit.ts'
import { STARTED_BY } from './reach/node-file.ts'
import { runNode } from './run.ts'

const [option, profile] = process.argv.slice(2)
if (option !== '--profile' || profile === undefined) {
  process.stderr.write('usage: main.ts --profile NAME\n')
  process.exit(64)
}

const startedBy = STARTED_BY.find(each => each === process.env.PARLEY_STARTED) ?? 'up'
const ended = await runNode({
  flags: { profile },
  startedBy,
  complain: text => process.stderr.write(text),
})
process.exit(NODE_EXIT[ended])
