// What only people may do. An agent runs as the same user, so without its token the node would take it for the person.
// The command refuses if it can see that a turn started it: this stops accidents, not attackers (docs/guide/gates.md).
import { Failure } from '../failure.ts'
import type { Calls, NodePath } from './client.ts'

/** Decisions about runs, people, money, peers, keys and the record. Reading and starting runs are free. */
const FOR_PEOPLE: ReadonlySet<string> = new Set<NodePath>([
  '/gates/respond',
  '/escalations/respond',
  '/gates/passphrase',
  '/highway/inject',
  '/workspaces/suspend',
  '/workspaces/resume',
  '/workspaces/migrate',
  '/workspaces/salvage',
  '/results/apply',
  '/results/clean',
  '/results/undo',
  '/runs/abort',
  '/budgets/raise',
  '/users/change',
  '/peers/pin',
  '/peers/unpin',
  '/peers/allow',
  '/peers/accept',
  '/peers/dismiss',
  '/tokens/create',
  '/tokens/revoke',
  '/link/rotate-key',
  '/trail/rotate-key',
  '/trail/import',
  '/trail/compact',
  '/trail/snapshot',
  '/trail/restore',
  '/node/stop',
])

/** `turn`: the turn that this process belongs to, looked up before each such call. */
export function forPeople(calls: Calls, turn: () => Promise<string | undefined>): Calls {
  return {
    ...calls,
    call: async (path, input, options) => {
      const marker = FOR_PEOPLE.has(path) ? await turn() : undefined
      if (marker !== undefined) throw insideTurn(marker)
      return calls.call(path, input, options)
    },
  }
}

/** Of the node at `socket`: an agent may act as a person on another node, for instance in tests. */
export async function turnAt(
  socket: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<string | undefined> {
  const { turnsAbove } = await import('@parley/node/commands')
  const turns = await turnsAbove(env)
  const told = turns.filter(turn => turn.socket !== undefined)
  // A turn that does not name its node may be of this one.
  return (told.length === 0 ? turns[0] : told.find(turn => turn.socket === socket))?.marker
}

function insideTurn(marker: string): Failure {
  return new Failure('inside_turn', "Only a person may do this, and this is an agent's turn.", {
    why: `PARLEY_TURN is in the environment of this process, or of one that started it: ${marker}.`,
    next: [
      'As an agent: leave it to the person who owns the run; `parley ws block "…"` asks them.',
      'As a person: use a terminal that no agent started.',
    ],
    details: { turn: marker },
  })
}
