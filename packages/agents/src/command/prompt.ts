// The prompt of an agent. Placeholders are filled in once: braces in a prompt are left alone.
import type { TurnInput } from '@parley/core'

const GOES_ON = 'You go on with your task, where you stopped. Since then this came.'

/** `resumed`: the agent remembers what it was told before, and is told what is new. */
export function promptText(
  { prompt, context }: Pick<TurnInput, 'prompt' | 'context'>,
  { resumed = false }: { readonly resumed?: boolean } = {},
): string {
  const told = resumed ? context.filter(({ news }) => news) : context
  const sections = told.map(({ title, text }) => `## ${title.replaceAll(/\s+/g, ' ')}\n\n${text.trimEnd()}\n`)
  return [`${(resumed ? GOES_ON : prompt).trimEnd()}\n`, ...sections].join('\n')
}

export type Placeholders = Readonly<Record<'prompt' | 'prompt_file' | 'folder' | 'base' | 'agent' | 'task', string>>

/** A NUL byte cannot be in an argument. */
export function fillIn(part: string, values: Placeholders): string {
  return part
    .replace(/\{(prompt|prompt_file|folder|base|agent|task)\}/g, (_, name) => values[name as keyof Placeholders])
    .replaceAll('\0', '\ufffd')
}
