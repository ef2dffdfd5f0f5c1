// `parley init`: prepares a project. It is safe to repeat: what a person wrote stays as it is.
import { spawnSync } from 'node:child_process'
import { existsSync, lstatSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { command } from '../../command.ts'
import { Failure } from '../../failure.ts'
import { cliLimits } from '../../limits.ts'
import { print } from '../../output.ts'
import { TEAM_FILE } from '../words.ts'
import { AGENT_NOTES } from './agent-notes.ts'
import { withSection } from './markers.ts'
import { type ProjectSetup, projectSetup, yamlList } from './package-managers.ts'
import { teamTemplate } from './team-template.ts'

interface Done {
  readonly file: string
  readonly did: 'written' | 'kept' | 'added' | 'updated' | 'same' | 'left'
  readonly text: string
}

export default command({
  about: `Writes ${TEAM_FILE} for the agents found on PATH and the lock files of the project, and a marked section in AGENTS.md (and in CLAUDE.md if it exists). Nothing that a person wrote is changed; it is safe to repeat.`,
  args: [{ name: 'FOLDER', summary: 'The project (default: this folder)', optional: true, complete: 'folder' }],
  examples: [
    ['parley init', 'in the folder of a project'],
    ['parley init ../other --json', 'in another one, for a program'],
  ],
  async run(context, { words }) {
    const folder = resolve(context.cwd, words[0] ?? '.')
    if (!lstatSync(folder, { throwIfNoEntry: false })?.isDirectory()) {
      throw new Failure('file_not_found', `${folder} is not a folder.`, {
        why: 'A project is an existing folder.',
        next: 'Name a folder, or change into one.',
      })
    }
    const { readyHere } = await import('@parley/node')
    const agents = readyHere({ path: context.env.PATH ?? '', pinned: () => false, functions: {} })
    const found = projectSetup(folder)
    const done = [writeTeam(folder, agents, found), ...noteFiles(folder).map(file => writeNotes(folder, file))]
    print(
      context,
      { folder, agents, ...(found && { setup: found.setup }), files: done.map(({ file, did }) => ({ file, did })) },
      () => [
        ...done.map(({ file, text }) => `${file}: ${text}`),
        ...(context.global.quiet ? [] : ['', ...nextLines(folder, agents)]),
      ],
    )
  },
})

function nextLines(folder: string, agents: readonly string[]): readonly string[] {
  const next = agents.length > 0 ? 'parley solve "what you want"' : `parley run ${TEAM_FILE}`
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
      ? `with ${agents.slice(0, 2).join(' and ')}${found ? `, and \`setup: ${yamlList(found.setup)}\`` : ''}`
      : 'with plain commands as an example, since no known agent was found on PATH'
  return { file: TEAM_FILE, did: 'written', text: `written, ${who}` }
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
