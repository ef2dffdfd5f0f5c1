// `parley kb share`: lets everybody read a restricted block.
import { blockAct } from './words.ts'

export default blockAct(
  'Plans and results of solves are restricted: only whoever they were made for can read them. Sharing cannot be taken back. It is for the curator of the block.',
  [
    ['parley kb share 0x9cccde9b', 'every user of this profile may read it'],
    ['parley kb share 0x9cccde9b --reason "release notes"', 'with a word for the record'],
  ],
  ({ api }, given) => api.knowledge.share(given),
  'is shared: everybody may read it.',
)
