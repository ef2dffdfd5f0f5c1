// Runs one command of the project within a time limit, in a process group of its own that ends as a whole.
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { limits } from './limits.mjs'

/** Keeps tools offline, plain and unattended. The last one tells a check that is started by the tests themselves. */
const quiet = {
  CI: '1',
  NO_COLOR: '1',
  FORCE_COLOR: '0',
  npm_config_offline: 'true',
  npm_config_update_notifier: 'false',
  npm_config_fund: 'false',
  npm_config_audit: 'false',
  YARN_ENABLE_NETWORK: '0',
  YARN_ENABLE_TELEMETRY: '0',
  COREPACK_ENABLE_NETWORK: '0',
  CARGO_NET_OFFLINE: 'true',
  GOPROXY: 'off',
  GOFLAGS: '-mod=readonly',
  PIP_NO_INDEX: '1',
  PYTHONDONTWRITEBYTECODE: '1',
  RELEASE_CHECK_RUNS: '1',
}

/**
 * Set by a test runner around us, which would change how the project's own runner behaves; and Parley's own, since its
 * token is not the project's. The mark by which Parley finds everything that a turn started stays.
 */
const foreign =
  /^(?:NODE_TEST_CONTEXT|NODE_ENV|NODE_V8_COVERAGE|VITEST.*|JEST_WORKER_ID|TEST|PYTEST_.*|FORCE_COLOR|PARLEY_(?!TURN$).*)$/

function environment(scratch) {
  const inherited = Object.entries(process.env).filter(([name]) => !foreign.test(name))
  return {
    ...Object.fromEntries(inherited),
    ...quiet,
    CARGO_TARGET_DIR: join(scratch, 'target'),
    GOCACHE: process.env.GOCACHE ?? join(scratch, 'go'),
  }
}

/**
 * Ends with { code, signal, late, output, lines, ms }; `onProgress(lines, last)` now and then. Output is its end,
 * without colours.
 */
export async function run([program, ...args], ms, onProgress) {
  const scratch = mkdtempSync(join(tmpdir(), 'release-check-'))
  try {
    return await runIn(scratch, program, args, ms, onProgress)
  } finally {
    rmSync(scratch, { recursive: true, force: true, maxRetries: 3 })
  }
}

function runIn(scratch, program, args, ms, onProgress) {
  const windows = process.platform === 'win32'
  const started = Date.now()
  const child = spawn(program, args, {
    env: environment(scratch),
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: !windows,
    shell: windows,
  })
  const state = { late: false, output: '', lines: 0 }
  const signal = name => {
    try {
      if (windows) child.kill(name)
      else process.kill(-child.pid, name)
    } catch {
      // The group has ended already.
    }
  }
  const end = () => {
    signal('SIGTERM')
    setTimeout(() => signal('SIGKILL'), limits.graceMs).unref()
  }
  const stopped = name => {
    signal('SIGKILL')
    rmSync(scratch, { recursive: true, force: true })
    process.exit(name === 'SIGINT' ? 130 : 143)
  }
  process.once('SIGINT', stopped).once('SIGTERM', stopped)
  const deadline = setTimeout(() => {
    state.late = true
    end()
    // What left the group may hold the pipes open for ever.
    setTimeout(() => child.stdout.destroy(child.stderr.destroy()), limits.graceMs + 500).unref()
  }, ms)
  const progress = setInterval(() => onProgress(state.lines, lastLine(state.output)), 5000)
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', text => {
      state.lines += text.split('\n').length - 1
      state.output = (state.output + text).slice(-limits.outputChars)
    })
  }
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code, name) => {
      clearTimeout(deadline)
      clearInterval(progress)
      process.off('SIGINT', stopped).off('SIGTERM', stopped)
      // What the command left behind in its group.
      signal('SIGKILL')
      resolve({
        code,
        signal: name,
        late: state.late,
        lines: state.lines,
        ms: Date.now() - started,
        output: stripVTControlCharacters(state.output),
      })
    })
  })
}

function lastLine(output) {
  return (
    stripVTControlCharacters(output)
      .trimEnd()
      .split(/[\r\n]+/)
      .at(-1)
      ?.trim()
      .slice(0, 100) ?? ''
  )
}
