// The kinds of fields that team files are made of. Each is optional and tells an editor its title and what it is for.
import { durationPattern, type TSchema, Type } from '@parley/core'
import { teamLimits } from './limits.ts'

export const closed = { additionalProperties: false } as const

/** A mapping with these keys and no others. */
export const record = <Members extends Record<string, TSchema>>(title: string, description: string, members: Members) =>
  Type.Object(members, { ...closed, title, description })

export const text = (title: string, description: string) => Type.Optional(Type.String({ title, description }))

/** What an agent is told. */
export const prompt = (title: string, description: string, value?: string) =>
  Type.Optional(
    Type.String({ minLength: 1, maxLength: teamLimits.promptLength, title, description, ...defaulted(value) }),
  )

export const patterned = (pattern: string, title: string, description: string, examples?: string[]) =>
  Type.Optional(Type.String({ pattern, title, description, ...(examples && { examples }) }))

export const duration = (title: string, description: string) =>
  patterned(durationPattern, title, description, ['90s', '10m', '1h30m'])

/** From 1 on. */
export const whole = (maximum: number, title: string, description: string, value?: number) =>
  Type.Optional(Type.Integer({ minimum: 1, maximum, title, description, ...defaulted(value) }))

export const yesNo = (title: string, description: string) =>
  Type.Optional(Type.Boolean({ title, description, default: true }))

export const choice = <const Words extends string[]>(
  words: readonly [...Words],
  title: string,
  description: string,
  value?: Words[number],
) => Type.Optional(Type.Enum<Words>([...words], { title, description, ...defaulted(value) }))

export const plan = <Task extends TSchema>(task: Task, description: string) =>
  Type.Optional(Type.Array(task, { minItems: 1, maxItems: teamLimits.tasks, title: 'Plan', description }))

function defaulted(value: string | number | undefined) {
  return value === undefined ? {} : { default: value }
}
