// `parley pr`: a pull request with the record of a run as its text. It pushes only when it is asked to.
import { spawn } from 'node:child_process'
import { type Context, command } from '../../command.ts'
import { Failure } from '../../failure.ts'
import { SLOW } from '../../limits.ts'
import { isOver } from '../../node/views.ts'
import { print, remark } from '../../output.ts'
import { shortId } from '../../render/format.ts'
import { pullRequest } from '../../render/pull-request.ts'
import { lines, oneLine } from '../../render/text.ts'
import { runHere } from '../which-run.ts'
import { RUN } from '../words.ts'

export default command({
  about:
    'Writes title and text from the record: the intent, the tasks, what their authors said, checks, reviews, cost. If `gh` is installed and the branch is on the remote, it opens the pull request; otherwise it prints the text. It pushes nothing unless you give --push.',
  args: [RUN],
  flags: {
    push: { summary: 'Push the branch of the run first, without git hooks' },
    draft: { summary: 'Open it as a draft' },
    base: { value: 'BRANCH', summary: 'The branch that it goes into (default: that of the repository)' },
    head: { value: 'BRANCH', summary: 'Another branch that has the work (default: the branch of the run)' },
    remote: { value: 'NAME', summary: 'Where the branch is pushed to (default: origin, or the only remote)' },
    print: { summary: 'Only print title and text' },
  },
  examples: [
    ['parley pr --print', 'what it would say'],
    ['parley pr --push --draft', 'push the branch, and open a draft'],
  ],
  async run(context, { flags, words }) {
    const { run, project, result, state } = await context.api.runs.show({ run: await runHere(context, words[0]) })
    const branch = flags.head ?? result?.branch
    if (branch === undefined)
      throw new Failure('nothing_to_apply', `The run ${run} has no branch.`, {
        why:
          result?.folder !== undefined
            ? `${project} is no git repository.`
            : isOver(state)
              ? 'It changed nothing.'
              : 'It is at work: the branch is there when it is over.',
        next: `parley show ${shortId(run)} shows it.`,
      })
    const text = pullRequest(await context.api.results.show({ run }, SLOW))
    const done = flags.print ? {} : await open(context, { ...text, ...flags, run, branch, cwd: project })
    print(context, { run, branch, ...text, ...done }, () =>
      done.url === undefined ? [text.title, '', ...lines(text.body.trimEnd())] : [oneLine(done.url)],
    )
  },
})

interface Wanted {
  readonly run: string
  readonly cwd: string
  readonly branch: string
  readonly title: string
  readonly body: string
  readonly push: boolean
  readonly draft: boolean
  readonly base: string | undefined
  readonly remote: string | undefined
}

async function open(context: Context, wanted: Wanted): Promise<{ readonly url?: string; readonly pushed?: boolean }> {
  const { branch, run, cwd, push } = wanted
  const called = (program: string, args: readonly string[], input = '') =>
    runProgram(context, cwd, program, args, input)
  const remote = wanted.remote ?? remoteOf((await called('git', ['remote'])).out)
  const gh = (await called('gh', ['--version'])).code === 0
  if (push) {
    if (remote === undefined)
      throw new Failure('no_remote', `${cwd} has no remote to push to.`, { next: 'Add one with `git remote add`.' })
    const ref = `refs/heads/${branch}`
    const pushed = await called('git', ['push', '--no-verify', remote, `${ref}:${ref}`])
    if (pushed.code !== 0) throw failed('push_failed', `${branch} could not be pushed to ${remote}`, pushed)
  }
  const tip = await called('git', ['rev-parse', '--verify', '--quiet', `refs/heads/${branch}`])
  const there =
    gh && remote !== undefined
      ? await called('git', ['ls-remote', '--heads', remote, `refs/heads/${branch}`])
      : undefined
  const isThere = push || (there?.code === 0 && tip.code === 0 && there.out.startsWith(tip.out.trim()))
  if (!gh || !isThere) {
    remark(
      context,
      gh
        ? remote === undefined
          ? `The repository has no remote, so no pull request was opened; this is its text.`
          : `${branch} is not on ${remote} as it is here; nothing was pushed. \`parley pr ${shortId(run)} --push\` pushes it and opens the pull request.`
        : `${push ? `Pushed ${branch} to ${remote}.` : 'Nothing was pushed.'} The program gh is not installed, so no pull request was opened; this is its text.`,
    )
    return push ? { pushed: true } : {}
  }
  // A second time there is nothing to open.
  const known = await called('gh', ['pr', 'view', branch, '--json', 'url,state', '--jq', 'select(.state=="OPEN").url'])
  if (known.code === 0 && known.out.trim() !== '') return { url: known.out.trim(), ...(push && { pushed: true }) }
  const created = await called(
    'gh',
    [
      ...['pr', 'create', '--head', branch, '--title', wanted.title, '--body-file', '-'],
      ...(wanted.base === undefined ? [] : ['--base', wanted.base]),
      ...(wanted.draft ? ['--draft'] : []),
    ],
    wanted.body,
  )
  if (created.code !== 0) throw failed('pull_request_failed', 'gh could not open the pull request', created)
  return { url: created.out.trim().split('\n').at(-1)!, ...(push && { pushed: true }) }
}

function remoteOf(listed: string): string | undefined {
  const all = listed.split('\n').filter(Boolean)
  return all.includes('origin') ? 'origin' : all.length === 1 ? all[0] : undefined
}

interface Ran {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

/** With the user's own environment: it may ask for a password on the terminal. */
function runProgram(
  { env, terminal }: Context,
  cwd: string,
  program: string,
  args: readonly string[],
  input: string,
): Promise<Ran> {
  const asks = terminal.interactive ? {} : { GIT_TERMINAL_PROMPT: '0', GH_PROMPT_DISABLED: '1' }
  return new Promise(resolve => {
    const child = spawn(program, args, { cwd, env: { ...env, ...asks }, stdio: 'pipe' })
    let [out, err] = ['', '']
    child.stdout.on('data', (chunk: Buffer) => {
      out += chunk
    })
    child.stderr.on('data', (chunk: Buffer) => {
      err += chunk
    })
    child.stdin.on('error', () => undefined)
    child.stdin.end(input)
    child.once('error', cause => resolve({ code: null, out, err: cause.message }))
    child.once('close', code => resolve({ code, out, err }))
  })
}

function failed(code: string, what: string, { err }: Ran): Failure {
  return new Failure(code, `${what}.`, {
    why: lines(err.trim()).join(' '),
    next: '`parley pr --print` prints its text.',
  })
}
