// `parley kb deprecate`: marks a block as superseded.
import { blockAct } from './words.ts'

export default blockAct(
  'The block stays readable and stays the source of others; it is not selected any more. It is for the curator of the block.',
  [
    ['parley kb deprecate 0x25cde9b3', 'it is selected no more'],
    ['parley kb deprecate 0x25cde9b3 --reason "see the new one"', 'with a word for the record'],
  ],
  ({ api }, given) => api.knowledge.deprecate(given),
  'is deprecated.',
)
