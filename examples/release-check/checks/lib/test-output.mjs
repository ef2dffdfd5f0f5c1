// Reads what test runners print: how many passed and failed, which ones failed and where, and whether it was the
// machine's fault.
import { relative } from 'node:path'

const number = text => Number(text ?? 0)

/** Each knows one family of runners: the counts in its summary, or undefined. */
const summaries = [
  // node:test, as TAP or for people
  text => {
    const [pass, fail] = ['pass', 'fail'].map(word =>
      [...text.matchAll(new RegExp(`^(?:#|ℹ) ${word} (\\d+)$`, 'gm'))].map(([, count]) => number(count)),
    )
    return pass.length > 0 ? { passed: total(pass), failed: total(fail) } : undefined
  },
  // vitest, jest
  text => {
    const [, line] = /^\s*Tests:?\s+(.*\b(?:passed|failed)\b.*)$/m.exec(text) ?? []
    return line
      ? { passed: number(/(\d+) passed/.exec(line)?.[1]), failed: number(/(\d+) failed/.exec(line)?.[1]) }
      : undefined
  },
  // cargo, once for each crate
  text => {
    const all = [...text.matchAll(/^test result: \w+\. (\d+) passed; (\d+) failed/gm)]
    return all.length > 0
      ? {
          passed: total(all.map(([, count]) => number(count))),
          failed: total(all.map(([, , count]) => number(count))),
        }
      : undefined
  },
  // pytest
  text => {
    const [line] =
      /^(?:=+ )?(?:\d+ (?:passed|failed|errors?|skipped|warnings?|x?failed|deselected)(?:, )?)+ in [\d.]+s.*$/m.exec(
        text,
      ) ?? []
    const bad = line && number(/(\d+) failed/.exec(line)?.[1]) + number(/(\d+) errors?/.exec(line)?.[1])
    return line ? { passed: number(/(\d+) passed/.exec(line)?.[1]), failed: bad } : undefined
  },
  // go counts packages
  text => {
    const passed = text.match(/^ok\s+\S+\s+(?:[\d.]+s|\(cached\))/gm)?.length ?? 0
    const failed = text.match(/^FAIL\s+\S+\s+/gm)?.length ?? 0
    return passed + failed > 0 ? { passed, failed, unit: 'package' } : undefined
  },
  // mocha
  text => {
    const [, passed] = /^\s*(\d+) passing\b/m.exec(text) ?? []
    return passed ? { passed: number(passed), failed: number(/^\s*(\d+) failing\b/m.exec(text)?.[1]) } : undefined
  },
  // Anything that ends by saying so.
  text => {
    const [, passed, failed] = /^(\d+) passed, (\d+) failed\b/m.exec(text) ?? []
    return passed ? { passed: number(passed), failed: number(failed) } : undefined
  },
]

function total(counts) {
  return counts.reduce((sum, count) => sum + count, 0)
}

export function countsIn(output) {
  for (const read of summaries) {
    const counts = read(output)
    if (counts) return counts
  }
  return undefined
}

/** A line that names a failed test. */
const failures = [
  /^\s*not ok \d+ - (?<name>.+?)(?: # .*)?$/,
  /^\s*✖ (?!failing tests:)(?<name>.+?)(?: \([\d.]+m?s\))?$/,
  /^\s*FAIL\s+(?<name>(?<file>\S+\.\w+)(?: .*)?)$/,
  /^FAILED (?<name>(?<file>[^:\s]+)::\S+)/,
  /^test (?<name>\S+) \.\.\. FAILED$/,
  /^\s*--- FAIL: (?<name>\S+)/,
  /^\s*● (?<name>.+ › .+)$/,
]
const LOCATION = /(?:file:\/\/)?([\w@./+~-]*\.[A-Za-z]{1,5}):(\d+)(?::\d+)?/g

/** The lines of the first failure where one is named, otherwise the last ones: { from, lines }. */
export function excerpt(output, most) {
  const lines = output.trimEnd().split(/\r?\n/)
  const first = lines.findIndex(line => failures.some(pattern => pattern.test(line)))
  return first < 0
    ? { from: 'The end of', lines: lines.slice(-most) }
    : { from: 'The first failure in', lines: lines.slice(first, first + most) }
}

/**
 * The tests that failed: [{ name, file?, line? }], each once, with the first place in the project that its message
 * names.
 */
export function failuresIn(output, files) {
  const tracked = new Set(files.map(({ path }) => path))
  const lines = output.split(/\r?\n/)
  const found = new Map()
  for (const [index, text] of lines.entries()) {
    const match = failures.map(pattern => pattern.exec(text)).find(Boolean)
    if (!match) continue
    const { name, file } = match.groups
    const known = found.get(name)
    if (known?.line) continue
    // node:test says where a test is on the line before it.
    const around = [lines[index - 1]?.startsWith('test at ') ? lines[index - 1] : '', ...lines.slice(index, index + 30)]
    const where = locate(around, tracked, own(file, tracked))
    found.set(name, {
      name: name.trim().slice(0, 200),
      ...(own(file, tracked) ? { file } : {}),
      ...known,
      ...where,
    })
  }
  return [...found.values()]
}

function own(file, tracked) {
  return file && tracked.has(file) ? file : undefined
}

function locate(lines, tracked, file) {
  for (const line of lines) {
    for (const [, path, number] of line.matchAll(LOCATION)) {
      const local = path.startsWith('/') ? relative(process.cwd(), path) : path.replace(/^\.\//, '')
      const full = tracked.has(local)
        ? local
        : [...tracked].find(name => name.endsWith(`/${local}`) && local.includes('_test.'))
      if (full && (!file || full === file)) return { file: full, line: Number(number) }
    }
  }
  return {}
}

const missing = [
  /(?:sh|bash|dash)(?:: line)?(?:: \d+)?: (?<what>[\w@./-]+): (?:command )?not found/,
  /'(?<what>[\w-]+)' is not recognized as an internal or external command/,
  /No module named '?(?<what>pytest|pip|tox)\b/,
  /Cannot find (?:module|package) '(?<module>[^'./][^']*)'/,
  /ModuleNotFoundError: No module named '(?<what>[^']+)'/,
  /(?<what>failed to download|attempting to make an HTTP request, but --offline|no matching package named `[^`]+` found)/,
  /(?<what>module lookup disabled by GOPROXY=off|no required module provides package|missing go\.sum entry)/,
  /(?<what>ENOTCACHED|ERR_PNPM_NO_OFFLINE)/,
]

/**
 * What is not installed, where that is why a run failed. A module that the manifest does not name is a mistake of the
 * project.
 */
export function missingIn(output, declared) {
  for (const pattern of missing) {
    const groups = pattern.exec(output)?.groups
    if (!groups) continue
    if (groups.what) return groups.what
    const name = groups.module
      .split('/')
      .slice(0, groups.module.startsWith('@') ? 2 : 1)
      .join('/')
    if (declared.has(name)) return name
  }
  return undefined
}
