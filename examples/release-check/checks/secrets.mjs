#!/usr/bin/env node
// Secrets in the history: every line that any commit of any branch or tag ever added. Says the kind, the commit, the
// file and the line of what it finds, never the secret. What was found stays in the history after it was deleted from
// the files: it must be revoked.
import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { AddedLines, COMMIT_FORMAT } from './lib/added-lines.mjs'
import { check, say } from './lib/check.mjs'
import { limits } from './lib/limits.mjs'
import { bytes, count } from './lib/markdown.mjs'
import { git, gitArguments, gitEnvironment } from './lib/repository.mjs'
import { Hits, IN_TESTS } from './lib/secret-hits.mjs'

const ALLOW_FILE = '.release-check-allow'
/** Parley's own branches hold results of runs; refs of running ones are not branches. */
const REVISIONS = ['--exclude=parley/*', '--branches', '--tags', '--remotes']
const PATCH = [
  '-p',
  '-U0',
  '--no-color',
  '--no-renames',
  '--no-ext-diff',
  '--no-textconv',
  '--src-prefix=a/',
  '--dst-prefix=b/',
  '--full-index',
]

const SECRET_FILES =
  /(?:^|\/)(?:\.env(?:\.(?!example|sample|template|dist|test|defaults?)[\w.-]+)?|id_(?:rsa|dsa|ecdsa|ed25519)|\.netrc|\.pgpass|[^/]+\.(?:p12|pfx|jks|keystore|kdbx))$/

await check('secrets', 'Secrets in the history', async repository => {
  const total = Number(git('rev-list', '--count', repository.commit, ...REVISIONS))
  say(`secrets: looking through ${count(total, 'commit')} …`)
  const hits = new Hits(allowList(repository.top))
  const log = ['log', '--cc', ...PATCH, `--format=${COMMIT_FORMAT}`, repository.commit, ...REVISIONS]
  const history = await read(log, hits, repository.top, total)
  if (!history.complete) {
    // The newest commits were seen; what was added before them and is still there is found in the present files.
    say('secrets: not all of the history could be read in time; looking at the present files as a whole …')
    const nothing = git('hash-object', '-t', 'tree', '/dev/null').trim()
    await read(['diff', ...PATCH, nothing, repository.commit], hits, repository.top)
  }
  const findings = [...hits.findings(repository), ...secretFiles(repository), ...howFar(repository, history, total)]
  const found = hits.size
  const secrets = found === 0 ? 'No secret found' : `${count(found, 'possible secret')} found`
  return {
    summary: `${secrets} in ${count(history.commits, 'commit')} (${bytes(history.bytes)} of changes).`,
    findings,
    facts: {
      commit: repository.commit,
      commits: total,
      commitsRead: history.commits,
      bytesRead: history.bytes,
      complete: history.complete,
      passedOver: hits.passedOver,
    },
    body: advice(found),
  }
})

/** Runs git and feeds what it prints to the search, within the limits. */
function read(args, hits, cwd, total) {
  const lines = new AddedLines(added => hits.look(added))
  const config = ['-c', `core.bigFileThreshold=${limits.textFileBytes}`]
  const child = spawn('git', gitArguments([...config, ...args]), {
    cwd,
    env: gitEnvironment(),
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const result = { commits: 0, bytes: 0, complete: true, last: '' }
  const stop = () => {
    result.complete = false
    child.kill()
    child.stdout.destroy()
  }
  const timer = setTimeout(stop, limits.historyMs)
  let told = Date.now()
  child.stdout.on('data', chunk => {
    result.bytes += chunk.length
    lines.push(chunk)
    if (result.complete && result.bytes > limits.historyBytes) stop()
    if (!total || Date.now() - told < 2000) return
    told = Date.now()
    say(`secrets: ${lines.commits.toLocaleString('en')} of ${count(total, 'commit')}, ${hits.size} found so far …`)
  })
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', code => {
      clearTimeout(timer)
      if (result.complete && code !== 0)
        return reject(new Error(`git ${args[0]} ended with code ${code}; its message is above.`))
      resolve({ ...result, commits: lines.commits, last: lines.commit })
    })
  })
}

/** Lines of the allow list: a glob of paths, or `<commit>:<path>:<line>` as in the report; `#` starts a comment. */
function allowList(top) {
  const path = join(top, ALLOW_FILE)
  const text = existsSync(path) ? readFileSync(path, 'utf8') : ''
  const entries = text
    .split('\n')
    .map(line => line.replace(/(?:^|\s)#.*/, '').trim())
    .filter(Boolean)
  const places = new Set(entries.filter(entry => /^[0-9a-f]{10}:/.test(entry)))
  const globs = entries.filter(entry => !places.has(entry)).map(globExpression)
  return ({ commit, file, line }) =>
    places.has(`${commit.slice(0, 10)}:${file}:${line}`) || globs.some(glob => glob.test(file))
}

function globExpression(glob) {
  const source = glob.replace(
    /\*\*\/?|\*|\?|[^\w/-]/g,
    part => ({ '**/': '(?:.*/)?', '**': '.*', '*': '[^/]*', '?': '[^/]' })[part] ?? `\\${part}`,
  )
  return new RegExp(`^${source}$`)
}

function secretFiles({ files }) {
  return files
    .filter(({ path }) => SECRET_FILES.test(path) && !IN_TESTS.test(path))
    .map(({ path }) => ({
      severity: 'warning',
      message: 'files of this name usually hold secrets, and this one is tracked',
      file: path,
      line: 1,
    }))
}

function howFar({ shallow }, history, total) {
  const findings = []
  if (shallow)
    findings.push({
      severity: 'warning',
      message: 'this is a shallow clone: the older history is not here and was not looked at',
    })
  if (!history.complete)
    findings.push({
      severity: 'warning',
      message:
        `only the newest ${count(history.commits, 'commit')} of ${total.toLocaleString('en')} were read, back to ${history.last.slice(0, 10)}, and the present files; ` +
        'set RELEASE_CHECK_HISTORY_SECONDS or RELEASE_CHECK_HISTORY_MIB higher to read more',
    })
  return findings
}

function advice(found) {
  if (found === 0) return ''
  return (
    'A secret that was ever pushed is known: revoke it at its provider and make a new one. Deleting it from the files does not help. ' +
    `What is no secret goes into \`${ALLOW_FILE}\`, one line each: \`<first 10 digits of the commit>:<path>:<line>\` or a glob of paths.`
  )
}
