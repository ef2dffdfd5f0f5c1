// Mail as an agent sees it.
import { Type } from '@parley/core'
import { object } from '../object.ts'

const head = { id: Type.String(), from: Type.String(), type: Type.String(), priority: Type.String() }

/** Mail that has come and that the agent has not read. */
export const WaitingMail = object({ mail: Type.Array(object(head)) })

export const Mail = Type.Array(object({ ...head, text: Type.String() }))
