// An example team for a project as it is: with the agents on PATH, and with what installs and tests the project.
import { type ProjectSetup, yamlList } from './package-managers.ts'

interface Project {
  readonly agents: readonly string[]
  readonly found: ProjectSetup | undefined
  /** It has a package.json. */
  readonly npm: boolean
}

interface ExampleTeam {
  readonly text: string
  /** What its user should know or change. */
  readonly notes: readonly string[]
}

export function exampleTeam(example: string, { agents, found, npm }: Project): ExampleTeam {
  const wanted = [...new Set([...example.matchAll(PRESET)].map(([, , name]) => name!))]
  const presets = presetsFor(wanted, agents)
  const [setup, check] = [found?.setup, found?.check ?? ['npm', 'test']]
  const text = example
    // Of a clone: its path means nothing elsewhere.
    .replace(/^# yaml-language-server:.*\n/, '')
    .replaceAll(PRESET, (_, before: string, name: string) => `${before}${presets.get(name)}`)
    .replace(/^setup: \[npm, ci\]/m, setup ? `setup: ${yamlList(setup)}` : '# setup: [make, deps]')
    .replaceAll('check: [npm, test]', `check: ${yamlList(check)}`)
    .replace('check: [sh, -c, "! npm test"]', `check: ${yamlList(['sh', '-c', failing(check)])}`)
  const used = new Set(presets.values())
  const ofNpm = found ? found.check[0] === 'npm' : npm
  return {
    text,
    notes: [
      ...(agents.length === 0
        ? [
            `None of the known agents was found on PATH: install ${wanted.join(' and ')}, or name others under \`agents\`.`,
          ]
        : []),
      ...(used.size < wanted.length
        ? [`Only ${[...used].join('')} was found, so nobody of another vendor looks at its work.`]
        : []),
      ...(!found && !npm && text.includes('check: [npm, test]')
        ? ['`check` runs `npm test`: change it to what tests this project, and `setup` to what installs it.']
        : []),
      ...(!ofNpm && text.includes('npm, update') ? ['It is written for npm: change what `updater` runs.'] : []),
    ],
  }
}

/** Not in a comment, where others are offered. */
const PRESET = /^([^#\n]*\bpreset: )([a-z]+)/gm

/** Each stays if it is here. The others are replaced, by those that have nothing to do yet if there are any. */
function presetsFor(wanted: readonly string[], here: readonly string[]): ReadonlyMap<string, string> {
  const spare = here.filter(each => !wanted.includes(each))
  return new Map(wanted.map(name => [name, here.includes(name) ? name : (spare.shift() ?? here[0] ?? name)]))
}

/** A script that succeeds where this command fails. */
function failing(check: readonly string[]): string {
  return check[1] === '-c' ? `! { ${check[2]}; }` : `! ${check.join(' ')}`
}
