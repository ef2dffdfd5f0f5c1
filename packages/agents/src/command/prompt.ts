// The prompt of an agent. Placeholders are filled in once: braces in a prompt are left alone.
import type { TurnInput } from '@parley/core'

export function promptText({ prompt, context }: Pick<TurnInput, 'prompt' | 'context'>): string {
  const sections = context.map(({ title, text }) => `## ${title.replaceAll(/\s+/g, ' ')}\n\n${text.trimEnd()}\n`)
  return [`${prompt.trimEnd()}\n`, ...sections].join('\n')
}

export type Placeholders = Readonly<Record<'prompt' | 'prompt_file' | 'folder' | 'base' | 'agent' | 'task', string>>

/** A NUL byte cannot be in an argument. */
export function fillIn(part: string, values: Placeholders): string {
  return part
    .replace(/\{(prompt|prompt_file|folder|base|agent|task)\}/g, (_, name) => values[name as keyof Placeholders])
    .replaceAll('\0', '\ufffd')
}
