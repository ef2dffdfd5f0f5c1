// Rules on ceilings, sight and consent, and how to break each.
import type { Mutant } from './mutants.ts'

export const SIGHT: readonly Mutant[] = [
  {
    id: 'WX-061',
    rule: 'a delegate cites directives that reached it',
    file: 'highway/inject.ts',
    find: '(isRoot(creator) || to === creator.id)',
    replace: '(isRoot(creator) || to.length > 0)',
    tests: 'user/causation.test.ts',
  },
  {
    id: 'WX-061-directive',
    rule: 'nothing but a directive asks for work',
    file: 'highway/inject.ts',
    find: "origin === 'human' && type === 'directive'",
    replace: "origin === 'human' && type !== ''",
    tests: 'user/causation.test.ts',
  },
]
