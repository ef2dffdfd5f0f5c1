// Team files whose agents are small scripts. The script reads its prompt from standard input.
export function teamFile(agents: Readonly<Record<string, string>>, plan: readonly string[]): string {
  const named = Object.entries(agents).map(
    ([name, script]) => `  ${name}: { command: [sh, -c, ${JSON.stringify(script)}] }`,
  )
  return [
    'version: 1',
    'name: house',
    'description: Tidy the house',
    'agents:',
    ...named,
    'plan:',
    ...plan.map(each => `  - ${each}`),
    '',
  ].join('\n')
}

/** An agent of a team file as a line of it. */
export function agentLine(name: string, script: string, more = ''): string {
  return `  ${name}: { command: [sh, -c, ${JSON.stringify(script)}]${more} }\n`
}

export const HOUSEWORK: readonly [Readonly<Record<string, string>>, readonly string[]] = [
  { sweep: 'echo swept > floor.txt', wipe: 'cat floor.txt > table.txt && echo wiped >> table.txt' },
  [
    '{ id: floor, title: Sweep the floor, agent: sweep, prompt: x }',
    '{ id: table, title: Wipe the table, agent: wipe, prompt: x, needs: [floor] }',
  ],
]
