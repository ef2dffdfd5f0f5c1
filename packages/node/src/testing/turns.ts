// What tests of spending share: a moment, and what a turn is given.
import { SystemIds, type Ticks, type TurnInput } from '@parley/core'

export const NOON = (Date.UTC(2026, 10, 15, 12) * 1000) as Ticks

const ids = new SystemIds()

export function turnInput(more: Partial<TurnInput> = {}): TurnInput {
  return {
    run: ids.next('run') as TurnInput['run'],
    workspace: ids.next('ws') as TurnInput['workspace'],
    agent: 'coder#1',
    epoch: 1,
    prompt: 'Go.',
    context: [],
    signal: new AbortController().signal,
    ...more,
  }
}
