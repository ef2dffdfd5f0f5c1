#!/usr/bin/env node
// The tests: finds how the project is tested, runs it within a time limit, and says honestly when it could not.
import { borrowModules } from './lib/borrowed-modules.mjs'
import { check, say } from './lib/check.mjs'
import { limits } from './lib/limits.mjs'
import { readJson } from './lib/manifest.mjs'
import { count } from './lib/markdown.mjs'
import { git } from './lib/repository.mjs'
import { run } from './lib/run.mjs'
import { testCommands } from './lib/runners.mjs'
import { countsIn, excerpt, failuresIn, missingIn } from './lib/test-output.mjs'

const LINES_SHOWN = 20

await check('tests', 'Tests', async ({ commit, files }) => {
  const commands = testCommands(files)
  if (commands.length === 0) return noTests(commit)
  if (process.env.RELEASE_CHECK_RUNS) return inside(commit, commands)
  const before = changedFiles()
  const returnModules = borrowModules(files)
  const results = []
  try {
    const deadline = Date.now() + limits.testMs
    for (const each of commands) results.push(await result(each, deadline, files))
  } finally {
    returnModules()
  }
  const touched = changedFiles().filter(path => !before.includes(path))
  return {
    summary: `${results.map(({ said }) => said).join('; ')}.`,
    findings: [...results.flatMap(({ findings }) => findings), ...touched.map(changedByTests)],
    facts: {
      commit,
      limitSeconds: limits.testMs / 1000,
      commands: results.map(({ findings, output, said, ...facts }) => facts),
    },
    body: results.map(outputOf).filter(Boolean).join('\n'),
  }
})

function noTests(commit) {
  return {
    summary: 'No way to test this project was found.',
    findings: [
      {
        severity: 'warning',
        message: 'found no test script, no Cargo.toml, no go.mod, no Python tests and no Makefile with a test target',
      },
    ],
    facts: { commit, commands: [] },
  }
}

/** Tests that run this check on their own repository would never end. */
function inside(commit, commands) {
  return {
    summary: "Not run: this check was started by the project's own tests.",
    findings: [{ severity: 'warning', message: 'not run, since the tests started this check themselves' }],
    facts: { commit, commands: commands.map(({ name }) => ({ name, outcome: 'not run' })) },
  }
}

async function result(test, deadline, files) {
  const { name, command, file, line, missing } = test
  const finding = (severity, message) => ({ severity, message, file, line })
  if (missing)
    return {
      name,
      outcome: 'not run',
      said: `${name} not run: ${missing}`,
      findings: [finding('warning', `${name} was not run: ${missing}`)],
    }
  const ms = Math.max(deadline - Date.now(), 1)
  say(`tests: running ${name}, at most ${Math.ceil(ms / 1000)} s …`)
  const ended = await run(command, ms, (lines, last) =>
    say(`tests: ${name}: ${count(lines, 'line')} of output so far; ${last}`),
  )
  const counts = countsIn(ended.output)
  const facts = { name, exitCode: ended.code, seconds: Math.round(ended.ms / 100) / 10, ...counts }
  const failed = failuresIn(ended.output, files).map(failure => ({
    ...finding('error', `failed: ${failure.name}`),
    ...placeOf(failure),
  }))
  if (ended.late) {
    const seconds = Math.round(ended.ms / 1000)
    const late =
      failed.length === 0
        ? `${name}: no failure in the first ${seconds} s`
        : `${name} took too long: not done after ${seconds} s`
    const advice = finding('warning', `${late}; set RELEASE_CHECK_TEST_SECONDS higher to let it finish`)
    return {
      ...facts,
      outcome: 'took too long',
      said: late,
      findings: [...failed, advice],
      output: failed.length > 0 && ended.output,
    }
  }
  const passed = counts ? `${count(counts.passed, counts.unit ?? 'test')} passed` : 'passed'
  if (ended.code === 0)
    return { ...facts, outcome: 'passed', said: `${name}: ${passed} in ${facts.seconds} s`, findings: [] }
  const lacking = missingIn(ended.output, declaredModules())
  if (lacking) {
    const said = `${name} needs its dependencies installed (${lacking})`
    return {
      ...facts,
      outcome: 'needs dependencies',
      said,
      findings: [finding('warning', `${said}: whether the tests pass is not known`)],
      output: ended.output,
    }
  }
  if (name === 'pytest' && ended.code === 5)
    return {
      ...facts,
      outcome: 'no tests',
      said: 'pytest found no tests',
      findings: [finding('warning', 'pytest found no tests')],
    }
  const how = ended.signal ? `was ended by ${ended.signal}` : `ended with code ${ended.code}`
  const said = counts?.failed ? `${name}: ${counts.failed} failed, ${passed}` : `${name} failed (${how})`
  return {
    ...facts,
    outcome: 'failed',
    said,
    findings: failed.length > 0 ? failed : [finding('error', `${name} ${how}`)],
    output: ended.output,
  }
}

function placeOf({ file, line }) {
  return file ? { file, line } : {}
}

function declaredModules() {
  const manifest = readJson('package.json') ?? {}
  return new Set(
    Object.keys({ ...manifest.dependencies, ...manifest.devDependencies, ...manifest.optionalDependencies }),
  )
}

function changedFiles() {
  return git('diff', '--name-only', '--relative', '-z', 'HEAD').split('\0').filter(Boolean)
}

function changedByTests(file) {
  return { severity: 'info', message: 'running the tests changed this tracked file', file, line: 1 }
}

function outputOf({ name, output }) {
  if (!output) return ''
  const { from, lines } = excerpt(output, LINES_SHOWN)
  return `${from} what ${name} printed:\n\n~~~~text\n${lines.join('\n').replaceAll('~~~~', '~~~')}\n~~~~\n`
}
