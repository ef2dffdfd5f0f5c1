// How a prompt reaches a known program as nothing but words. Agents, peers and files wrote parts of it: no program may
// take one of them for something to do by itself. `npm run clis` shows it with the real programs.

/** Programs look for commands of their own (`/help`, `!ls`, `#note`) at the beginning, and find none there. */
const LEAD = 'Your task:'

export function led(prompt: string): string {
  return `${LEAD}\n\n${prompt}`
}

/** For a program that puts in the file whose path follows an @, with its own sign that this is no such @. */
export function escaped(prompt: string): string {
  if (!prompt.includes('@')) return led(prompt)
  return `${LEAD} (in it, each @ is written \\@)\n\n${prompt.replaceAll('@', '\\@')}`
}

/** For codex, which adds the skill, app or plugin whose name follows a $. It has no sign of its own for any other $. */
export function unnamed(prompt: string): string {
  const plain = prompt.replaceAll(/\$(?=[\w:-])/g, () => '$\\')
  return plain === prompt ? led(prompt) : `${LEAD} (in it, each $ before a name is written $\\)\n\n${plain}`
}

/**
 * For claude, which looks for commands and files in the last block of a message only. CLAUDE_CODE_DISABLE_ATTACHMENTS
 * would keep it from looking, and from telling the model which tools and skills there are.
 */
export function inBlocks(prompt: string): string {
  const content = [led(prompt), 'That is all of your task.'].map(text => ({ type: 'text', text }))
  return `${JSON.stringify({ type: 'user', message: { role: 'user', content } })}\n`
}
