// The words that commands begin with, and the nearest to a mistyped one.
import { nearest } from '@parley/core'
import type { Table } from '../command.ts'

export type Words = readonly (readonly [word: string, summary: string])[]

export function firstWords({ commands, groups }: Table): Words {
  const words = new Map<string, string>()
  for (const [name, summary] of commands) {
    const [word = name] = name.split(' ')
    words.set(word, groups.find(group => group.name === word)?.summary ?? summary)
  }
  return [...words]
}

export function secondWords({ commands }: Table, group: string): Words {
  return commands
    .filter(([name]) => name.startsWith(`${group} `))
    .map(([name, summary]) => [name.slice(group.length + 1), summary] as const)
}

/** A word that was typed in part comes before one that was mistyped. */
export function suggest(word: string, known: readonly string[]): string | undefined {
  const begun = word.length >= 2 ? known.find(each => each.startsWith(word)) : undefined
  return begun ?? nearest(word, known)
}
