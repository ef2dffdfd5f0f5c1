// Two people, each with a home, a node that is up and an agent that answers; on loopback, on ports that are free.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import type { IdentityView } from '../node/views.ts'
import { type Running, World } from './world.ts'

/** The script that answers asks; it reads them from standard input. */
export type Answering = (person: Person) => string

/** An agent is told what it is asked first; here that begins with `Now:`. What was said before comes below it. */
export const repeats: Answering = ({ name }) => `echo "${name} heard: $(grep -m 1 '^Now:')"`

export class Person extends World {
  readonly name: string
  node: Running | undefined

  constructor(name: string, answering: Answering, more: readonly string[] = []) {
    super()
    this.name = name
    mkdirSync(join(this.home, 'default'), { mode: 0o700 })
    const config = [
      'agents:',
      `  desk: { command: [sh, -c, ${JSON.stringify(answering(this))}] }`,
      'alp: { agent: desk }',
      ...more,
    ]
    writeFileSync(this.file('config.yaml'), `${config.join('\n')}\n`)
  }

  /** A file of the profile. */
  file(...names: readonly string[]): string {
    return join(this.home, 'default', ...names)
  }

  /** A file that the scripts of this person's agents may write. */
  mark(name: string): string {
    return join(this.folder, name)
  }

  async begin(): Promise<void> {
    this.node = await this.up()
  }

  identity(): Promise<IdentityView & { readonly paste: string }> {
    return this.json('id')
  }

  /** Pastes the line that the other one's `parley id` prints, and sees the other one's digits. */
  async pastes(other: Person): Promise<void> {
    const { paste, spoken } = await other.identity()
    const [program, ...args] = paste.split(' ')
    expect(program).toBe('parley')
    const pinned = await this.parley(...args, '--id', other.name)
    expect(pinned.code, pinned.err).toBe(0)
    expect(pinned.out).toContain(`aloud        ${spoken}\n`)
  }

  ledger(): Ledger {
    return JSON.parse(readFileSync(this.file('logs', 'ledger.json'), 'utf8')) as Ledger
  }
}

/** What ALP-BUD-02 has in the file, and what is set aside. */
export interface Ledger {
  readonly by_peer: Readonly<Record<string, { readonly usd: number; readonly tokens: number }>>
  readonly profile: { readonly usd: number }
  readonly reserved?: Readonly<Record<string, unknown>>
}

/** What a script has written, as soon as it has. */
export async function written(file: string): Promise<string> {
  const text = () => (existsSync(file) ? readFileSync(file, 'utf8').trim() : '')
  await expect.poll(text, { timeout: 30_000, interval: 20 }).not.toBe('')
  return text()
}
