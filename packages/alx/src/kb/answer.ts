// What this half answers: the members of a wire shape without the base envelope, which whoever sends it adds.
import type { BaseEnvelope } from '@alx/protocol'

export type Answer<T extends BaseEnvelope> = Omit<T, 'ok' | 'correlationId' | 'protocol' | 'error'>
