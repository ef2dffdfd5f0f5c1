// The team file that `parley init` writes: for the agents on PATH, or a working example of plain commands.
import { type ProjectSetup, yamlList } from './package-managers.ts'

const HEAD = (name: string, description: string) => `# A team for \`parley solve "…"\` and \`parley run parley.yaml\`.
# Every field is explained in docs/guide/team-files.md of Parley.
version: 1
name: ${name}
description: ${description}
`

const TAIL = `
# A person approves the plan before work starts. \`none\` starts at once.
approval: ask

limits:
  concurrency: 4     # turns at once in a run
  attempts: 2        # tries of one task, the first included
  # timeout: 1h      # of the whole run
`

/** What is run in a folder before anybody works there, and what comes along. */
function folders(found: ProjectSetup | undefined): string {
  if (!found) return '\n# setup: [make, deps]         # run once in every folder, before anybody works there\n'
  return `
# Run once in every folder before anybody works there, since folders hold committed files only: for ${found.locks.join(' and ')}.
setup: ${yamlList(found.setup)}
# carry: [.env.test]           # ignored files that agents may have, as copies
`
}

export function teamTemplate(agents: readonly string[], folder: string, found?: ProjectSetup): string {
  const name = teamName(folder)
  const [first, second] = agents
  if (first === undefined) return exampleTeam(name, found)
  return second === undefined ? soloTeam(name, first, found) : pairTeam(name, first, second, found)
}

/** A folder's name as the name of a team: \`[a-z0-9][a-z0-9-]{0,63}\`. */
export function teamName(folder: string): string {
  const plain = folder
    .toLowerCase()
    .normalize('NFKD')
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+/, '')
    .slice(0, 64)
    .replace(/-+$/, '')
  return plain === '' ? 'team' : plain
}

function soloTeam(name: string, agent: string, found: ProjectSetup | undefined): string {
  return `${HEAD(name, 'Solves what it is asked for')}
agents:
  ${agent}:
    preset: ${agent}
    # model: name-of-a-model
    timeout: 30m
${folders(found)}${TAIL}
# Without a plan the one agent gets the intent as its one task. With a plan there can be several tasks and agents:
#
# plan:
#   - id: work
#     title: Do what was asked
#     agent: ${agent}
#     prompt: '{intent}'
#     paths: [src/**]            # what it may change
#     check: ${checkOf(found)}         # must exit 0 before the work is accepted
`
}

function checkOf(found: ProjectSetup | undefined): string {
  return yamlList(found?.check ?? ['npm', 'test'])
}

function pairTeam(name: string, writer: string, reviewer: string, found: ProjectSetup | undefined): string {
  return `${HEAD(name, 'Solves what it is asked for, with a second pair of eyes')}
agents:
  ${writer}:
    preset: ${writer}
    # model: name-of-a-model
    timeout: 30m
  ${reviewer}:
    preset: ${reviewer}
${folders(found)}${TAIL}
plan:
  - id: work
    title: Do what was asked
    agent: ${writer}
    prompt: '{intent}'
    # paths: [src/**]          # what it may change; everything if left out
    # check: ${checkOf(found)}       # must exit 0 before the work is accepted
    review:
      by: ${reviewer}
      prompt: Does this do what was asked, completely and simply? Is it tested?
`
}

function exampleTeam(name: string, found: ProjectSetup | undefined): string {
  return `${HEAD(name, 'Takes stock of this folder')}
# None of the known agents was found on PATH, so this team has plain commands as agents. It works as it is:
#   parley run parley.yaml
# An agent is any program that changes files in its folder. With one of the known ones installed:
#   agents: { writer: { preset: claude } }
agents:
  files:
    command: [sh, -c, 'mkdir -p report && { echo "# Files"; echo; find . -type f -not -path "./.git*" -not -path "./report/*" | sed "s/^/- /" | sort | head -n 500; } > report/files.md']
    prompt: none
  todos:
    command: [sh, -c, 'mkdir -p report && { echo "# Open ends"; echo; grep -rnI --exclude=parley.yaml --exclude-dir=.git --exclude-dir=report --exclude-dir=node_modules -E "TODO|FIXME" . | cut -c 1-200 | sed "s/^/- /" | head -n 200; true; } > report/todos.md']
    prompt: none
  summary:
    command: [sh, -c, 'cat report/files.md report/todos.md > report/README.md']
    prompt: none
${folders(found)}${TAIL}
plan:
  - id: files
    title: List the files
    agent: files
    prompt: List the files.
    paths: [report/**]
  - id: todos
    title: Find open ends
    agent: todos
    prompt: Find what is marked as open.
    paths: [report/**]
  - id: summary
    title: Put it together
    agent: summary
    prompt: Put both lists together.
    needs: [files, todos]
    paths: [report/**]
`
}
