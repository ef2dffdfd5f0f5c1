// node.json: what runs in a profile. It is there for people and clients while a node runs; what makes the node the only
// one is the trail's lock, never this file.
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { compile, type Static, Type } from '@parley/core'

export const STARTED_BY = ['up', 'on-demand'] as const
export type StartedBy = (typeof STARTED_BY)[number]

const NodeFileSchema = Type.Object({
  pid: Type.Integer({ minimum: 1 }),
  version: Type.String(),
  started: Type.String(),
  socket: Type.String(),
  started_by: Type.Enum([...STARTED_BY]),
})
export type NodeFile = Static<typeof NodeFileSchema>

const shape = compile(NodeFileSchema)

/** Undefined where there is none, or none that can be understood. */
export function readNodeFile(file: string): NodeFile | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(file, 'utf8'))
    return shape.is(value) ? value : undefined
  } catch {
    return undefined
  }
}

export function writeNodeFile(file: string, content: NodeFile): void {
  const aside = `${file}.${process.pid}.tmp`
  writeFileSync(aside, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 })
  renameSync(aside, file)
}

/** Only what this process wrote: another node may have started since. */
export function removeNodeFile(file: string): void {
  if (readNodeFile(file)?.pid === process.pid) rmSync(file, { force: true })
}
