// `parley init`: prepares a project. It is safe to repeat: what a person wrote stays as it is.
import { spawnSync } from 'node:child_process'
import { existsSync, lstatSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { type Context, command } from '../../command.ts'
import { EXAMPLES, type Example, exampleText } from '../../examples.ts'
import { Failure } from '../../failure.ts'
import { cliLimits } from '../../limits.ts'
import { print, remark } from '../../output.ts'
import { labelled, oneLine } from '../../render/text.ts'
import { TEAM_FILE } from '../words.ts'
import { AGENT_NOTES } from './agent-notes.ts'
import { exampleTeam } from './example-team.ts'
import { withSection } from './markers.ts'
import { type ProjectSetup, projectSetup, yamlList } from './package-managers.ts'
import { nearestTeamFile } from './solve.ts'
import { teamTemplate } from './team-template.ts'

interface Done {
  readonly file: string
  readonly did: 'written' | 'kept' | 'added' | 'updated' | 'same' | 'left'
  readonly text: string
}

export default command({
  about: `Writes ${TEAM_FILE} for the agents found on PATH and the lock files of the project, and a marked section in AGENTS.md (and in CLAUDE.md if it exists). Nothing that a person wrote is changed; it is safe to repeat.`,
  args: [{ name: 'FOLDER', summary: 'The project (default: this folder)', optional: true, complete: 'folder' }],
  flags: {
    example: { value: 'NAME', summary: 'A team for one job, adapted to the project', choices: EXAMPLES },
    list: { summary: 'Say what each example is for, and write nothing' },
  },
  examples: [
    ['parley init', 'in the folder of a project'],
    ['parley init --example fix-issue', 'a team that turns an issue into a test and a fix'],
    ['parley init ../other --json', 'in another one, for a program'],
  ],
  async run(context, { flags, words }) {
    if (flags.list) {
      const examples = EXAMPLES.map(name => ({ name, description: descriptionOf(exampleText(name)) }))
      print(context, { examples }, () =>
        labelled(
          examples.map(({ name, description }) => [name, description]),
          context.terminal.columns,
          context.terminal.paint,
          Math.max(...EXAMPLES.map(({ length }) => length)) + 2,
        ),
      )
      return
    }
    const folder = words[0] === undefined ? projectHere(context) : resolve(context.cwd, words[0])
    if (!lstatSync(folder, { throwIfNoEntry: false })?.isDirectory()) {
      throw new Failure('file_not_found', `${folder} is not a folder.`, {
        why: 'A project is an existing folder.',
        next: 'Name a folder, or change into one.',
      })
    }
    const { outsideDependencies, outsideWarning, readyHere } = await import('@parley/node')
    const agents = readyHere({ path: context.env.PATH ?? '', pinned: () => false, functions: {} })
    const found = projectSetup(folder)
    const example = EXAMPLES.find(each => each === flags.example)
    const npm = existsSync(join(folder, 'package.json'))
    const team = example && exampleTeam(exampleText(example), { agents, found, npm })
    const wrote = example && team ? writeExample(folder, example, team.text) : writeTeam(folder, agents, found)
    const notes = wrote.did === 'written' ? (team?.notes ?? []) : []
    const done = [wrote, ...noteFiles(folder).map(file => writeNotes(folder, file))]
    const outside = outsideDependencies(folder)
    for (const each of outside) remark(context, `warning: ${outsideWarning(oneLine(each))}`)
    const files = done.map(({ file, did }) => ({ file, did }))
    const next = team ? startOf(wrote.file, team.text) : ownStart(folder, agents)
    const told = { folder, agents, ...(found && { setup: found.setup }), ...(outside.length > 0 && { outside }), files }
    print(context, { ...told, ...(team && { notes }) }, () => [
      ...done.map(({ file, text }) => `${file}: ${text}`),
      ...notes.map(each => `note: ${each}`),
      ...(context.global.quiet ? [] : ['', ...nextLines(folder, next)]),
    ])
  },
})

/** A team file above in the same repository is the one that runs here use: a second one would hide it. */
function projectHere(context: Context): string {
  const file = nearestTeamFile(context)
  const folder = file === undefined ? context.cwd : dirname(file)
  if (folder !== context.cwd)
    remark(
      context,
      `The project is ${folder}, which has ${TEAM_FILE}; \`parley init .\` writes one for this folder alone.`,
    )
  return folder
}

const SOLVE = 'parley solve "what you want"'

function ownStart(folder: string, agents: readonly string[]): string {
  // `parley run` takes the description as the intent.
  const isDescribed = /^description: *\S/m.test(readFileSync(join(folder, TEAM_FILE), 'utf8'))
  return agents.length === 0 && isDescribed ? `parley run ${TEAM_FILE}` : SOLVE
}

/** What the team is for is asked of its user, or said in the file. */
function startOf(file: string, text: string): string {
  if (!text.includes('{intent}')) return `parley run ${file}`
  return file === TEAM_FILE ? SOLVE : `parley solve --team ${file} "what you want"`
}

function descriptionOf(text: string): string {
  return /^description: (.*)$/m.exec(text)?.[1] ?? ''
}

/** Beside the project's own team, if there is one. */
function writeExample(folder: string, name: Example, text: string): Done {
  const files = [TEAM_FILE, `${name}.yaml`]
  const same = files.find(file => existsSync(join(folder, file)) && readFileSync(join(folder, file), 'utf8') === text)
  if (same !== undefined) return { file: same, did: 'same', text: `is the example ${name} already` }
  const free = files.find(file => !existsSync(join(folder, file)))
  if (free === undefined) return { file: files[1]!, did: 'kept', text: 'exists; left unchanged' }
  write(join(folder, free), text, 'wx')
  return { file: free, did: 'written', text: `written, from the example ${name}` }
}

function nextLines(folder: string, next: string): readonly string[] {
  if (!isWithoutCommit(folder)) return [`Next: ${next}`]
  return [
    'This repository has no commit yet, and a run starts from one.',
    `Next: git add . && git commit -m "Begin"`,
    `Then: ${next}`,
  ]
}

function isWithoutCommit(folder: string): boolean {
  const git = (...args: readonly string[]) =>
    spawnSync('git', ['-C', folder, ...args], { stdio: 'ignore', timeout: cliLimits.probeMs }).status
  return git('rev-parse', '--git-dir') === 0 && git('rev-parse', '--verify', '--quiet', 'HEAD') === 1
}

function writeTeam(folder: string, agents: readonly string[], found: ProjectSetup | undefined): Done {
  const path = join(folder, TEAM_FILE)
  if (existsSync(path)) {
    const lacks = found && !/^ *setup:/m.test(readFileSync(path, 'utf8'))
    const offer = lacks
      ? `; \`setup: ${yamlList(found.setup)}\` in it would install what ${found.locks.join(' and ')} names`
      : ''
    return { file: TEAM_FILE, did: 'kept', text: `exists; left unchanged${offer}` }
  }
  write(path, teamTemplate(agents, basename(folder), found), 'wx')
  const who =
    agents.length > 0
      ? `with ${agents.slice(0, 2).join(' and ')}`
      : 'with plain commands as an example, since no known agent was found on PATH'
  const setup = found ? `, and \`setup: ${yamlList(found.setup)}\`` : ''
  return { file: TEAM_FILE, did: 'written', text: `written, ${who}${setup}` }
}

/** A CLAUDE.md that links to AGENTS.md already has the notes. */
function noteFiles(folder: string): readonly string[] {
  const claude = lstatSync(join(folder, 'CLAUDE.md'), { throwIfNoEntry: false })
  return claude?.isFile() ? ['AGENTS.md', 'CLAUDE.md'] : ['AGENTS.md']
}

function writeNotes(folder: string, file: string): Done {
  const path = join(folder, file)
  const before = existsSync(path) ? readFileSync(path, 'utf8') : ''
  const marked = withSection(before, AGENT_NOTES)
  switch (marked.kind) {
    case 'broken':
      return { file, did: 'left', text: `left unchanged: ${marked.why}` }
    case 'same':
      return { file, did: 'same', text: 'already has the notes for agents' }
    case 'added':
      write(path, marked.text)
      return { file, did: 'added', text: 'notes for agents added between markers' }
    case 'updated':
      write(path, marked.text)
      return { file, did: 'updated', text: 'notes for agents updated between the markers' }
  }
}

function write(path: string, text: string, flag: 'w' | 'wx' = 'w'): void {
  try {
    writeFileSync(path, text, { flag, mode: 0o644 })
  } catch (thrown) {
    throw new Failure('file_unwritable', `${path} cannot be written.`, {
      why: `The system says ${(thrown as NodeJS.ErrnoException).code}.`,
      next: 'Check who owns the folder and its permissions.',
      details: { file: path },
      cause: thrown,
    })
  }
}
