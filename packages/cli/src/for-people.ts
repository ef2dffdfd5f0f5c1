// What only people may do. An agent runs as the same user as the person, so where it leaves its token away the node takes it for the
// person. The command refuses, as far as it can see that a turn started it: this stops accidents, not attackers (docs/guide/gates.md).
import { Failure } from './failure.ts'
import type { NodeApi } from './node-api.ts'

/** Decisions over runs, people, money, peers, keys and the record. Reading is free, and so is beginning a run of one's own. */
const FOR_PEOPLE = [
  'respond',
  'reply',
  'setPassphrase',
  'inject',
  'suspend',
  'resume',
  'abort',
  'migrate',
  'salvage',
  'raiseBudget',
  'changeUser',
  'pinPeer',
  'unpinPeer',
  'allowPeer',
  'acceptPeer',
  'dismissPeer',
  'rotateKey',
  'rotateIdentity',
  'importTrail',
  'compactTrail',
  'snapshotTrail',
  'restoreTrail',
  'stop',
] as const satisfies readonly (keyof NodeApi)[]

/** `turn` says whose turn this process belongs to, if to any; it is asked before each such act. */
export function forPeople(api: NodeApi, turn: () => Promise<string | undefined>): NodeApi {
  const guarded = FOR_PEOPLE.map(name => {
    const act = api[name] as (...input: readonly unknown[]) => Promise<unknown>
    return [
      name,
      async (...input: readonly unknown[]) => {
        const marker = await turn()
        if (marker !== undefined) throw insideTurn(marker)
        return act(...input)
      },
    ] as const
  })
  return { ...api, ...(Object.fromEntries(guarded) as Pick<NodeApi, (typeof FOR_PEOPLE)[number]>) }
}

/** Of the node at `socket`: a command inside a turn of one node may do as people do at another, for instance in the tests of a program. */
export async function turnAt(
  socket: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<string | undefined> {
  const { turnsAbove } = await import('@parley/node')
  const turns = await turnsAbove(env)
  const told = turns.filter(turn => turn.socket !== undefined)
  // Where none says which node it belongs to, it may be this one.
  return (told.length === 0 ? turns[0] : told.find(turn => turn.socket === socket))?.marker
}

function insideTurn(marker: string): Failure {
  return new Failure('inside_turn', 'Only a person may do this, and this is the turn of an agent.', {
    why: `PARLEY_TURN is in the environment of this process, or of one that started it: ${marker}.`,
    next: [
      'As an agent: leave it to the person who owns the run; `parley ws block "…"` asks them.',
      'As a person: use a terminal that no agent has started.',
    ],
    details: { turn: marker },
  })
}
