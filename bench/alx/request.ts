// A request as a side's own client sends it: captured once, and sent again with ids of its own each time.
import { randomUUID } from 'node:crypto'

export const ID_KINDS = ['uuid', 'number'] as const
export type IdKind = (typeof ID_KINDS)[number]

export interface RequestShape {
  readonly port: number
  readonly method: 'POST' | 'GET'
  readonly path: string
  /** All that the client sent but those of the connection, which whoever sends it again adds. */
  readonly headers: Readonly<Record<string, string>>
  /** The text of the body, cut where an id of this request alone belongs; one part more than ids. */
  readonly body: readonly string[]
  readonly ids: readonly IdKind[]
  /** What every good answer contains; its status is 200. */
  readonly expects: string
}

/** Cuts the text of a JSON body at the members of these names, at any depth: their values are ids. */
export function cut(
  text: string,
  members: Readonly<Partial<Record<string, IdKind>>>,
): Pick<RequestShape, 'body' | 'ids'> {
  const marked = JSON.stringify(
    JSON.parse(text, (name, value: unknown) => (members[name] === undefined ? value : `@@${members[name]}@@`)),
  )
  const parts = marked.split(/"@@(uuid|number)@@"/)
  return {
    body: parts.filter((_, index) => index % 2 === 0),
    ids: parts.filter((_, index) => index % 2 === 1) as IdKind[],
  }
}

let numbers = 0

export function bodyOf({ body, ids }: Pick<RequestShape, 'body' | 'ids'>): string {
  let text = body[0] ?? ''
  for (const [index, kind] of ids.entries()) {
    text += kind === 'uuid' ? `"${randomUUID()}"` : String(++numbers)
    text += body[index + 1]!
  }
  return text
}

/** Of the connection, not of the request. */
const CONNECTION = new Set(['host', 'connection', 'content-length', 'keep-alive', 'transfer-encoding'])

export function requestHeaders(
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined || CONNECTION.has(name) ? [] : [[name, String(value)]],
    ),
  )
}
