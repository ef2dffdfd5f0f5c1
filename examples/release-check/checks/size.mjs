#!/usr/bin/env node
// The size: tracked files that are too large, what would be published, and how much it all grew since the last tag.
// `npm pack` only lists (--dry-run) and runs no scripts.
import { check, say } from './lib/check.mjs'
import { limits } from './lib/limits.mjs'
import { bytes, count, some, table } from './lib/markdown.mjs'
import { publishedPackages } from './lib/packages.mjs'
import { filesOf, tryGit } from './lib/repository.mjs'

const SENSITIVE =
  /(?:^|\/)(?:\.env(?:\.(?!example|sample|template)[\w.-]+)?|\.npmrc|\.git\/.*|node_modules\/.*|[^/]+\.(?:pem|p12|pfx)|id_(?:rsa|ed25519))$/
const TESTS = /(?:^|\/)(?:__tests__|tests?|fixtures)\/|\.(?:test|spec)\.\w+$/

await check('size', 'Size', ({ commit, tag, files }) => {
  const total = sum(files)
  say(`size: ${count(files.length, 'tracked file')}, ${bytes(total)}`)
  const packages = publishedPackages(files)
  const growth = tag && growthSince(tag, files)
  const largest = files.toSorted((a, b) => b.bytes - a.bytes).slice(0, 10)
  const grew = growth ? `; ${growth.bytes < 0 ? '' : '+'}${bytes(growth.bytes)} since ${tag}` : ''
  const packed = packages.filter(each => each.files).length
  return {
    summary: `${count(files.length, 'tracked file')}, ${bytes(total)}${grew}; ${packed === 0 ? 'no package to publish' : `${count(packed, 'package')} to publish`}.`,
    findings: [...largeFiles(files), ...packages.flatMap(aboutPackage)],
    facts: {
      commit,
      files: files.length,
      bytes: total,
      largest: largest.map(({ path, bytes }) => ({ path, bytes })),
      growth: growth ?? null,
      packages: packages.map(({ name, version, bytes, packedBytes, files }) => ({
        name,
        version,
        bytes,
        packedBytes,
        files: files?.length,
      })),
    },
    body: body(
      largest,
      growth,
      tag,
      packages.filter(each => each.files),
    ),
  }
})

function sum(files) {
  return files.reduce((total, file) => total + file.bytes, 0)
}

function largeFiles(files) {
  return files
    .filter(file => file.bytes > limits.fileBytes)
    .map(({ path, bytes: size }) => {
      const huge = size > limits.hugeFileBytes
      const advice = huge
        ? 'hosts refuse files of this size; keep it outside git or in Git LFS'
        : 'every clone carries it for ever'
      return {
        severity: huge ? 'error' : 'warning',
        message: `${bytes(size)}: ${advice}`,
        file: path,
        line: 1,
      }
    })
}

function growthSince(tag, files) {
  if (!tryGit(['rev-parse', '--verify', '--quiet', `${tag}^{commit}`])) return undefined
  const before = new Map(filesOf(tag).map(({ path, bytes }) => [path, bytes]))
  const changes = files.map(({ path, bytes }) => ({ path, bytes: bytes - (before.get(path) ?? 0) }))
  const beforeTotal = [...before.values()].reduce((total, size) => total + size, 0)
  return {
    bytes: sum(files) - beforeTotal,
    files: files.length - before.size,
    most: changes
      .filter(change => change.bytes > 0)
      .toSorted((a, b) => b.bytes - a.bytes)
      .slice(0, 5),
  }
}

function aboutPackage({ path, name, problem, files, lost, unbuilt, bytes: size }) {
  const finding = (severity, message) => ({ severity, message: `${name}: ${message}`, file: path, line: 1 })
  if (problem) return [finding('info', `what it would publish is not known: ${problem}`)]
  const names = files.map(file => file.path)
  const sensitive = names.filter(file => SENSITIVE.test(file))
  const tests = names.filter(file => TESTS.test(file))
  const findings = []
  if (sensitive.length > 0) findings.push(finding('error', `would publish ${some(sensitive)}`))
  if (size > limits.packageBytes) findings.push(finding('warning', `would publish ${bytes(size)} unpacked`))
  if (lost.length > 0) findings.push(finding('error', `its entry points ${some(lost)} would not be in the package`))
  if (unbuilt.length > 0)
    findings.push(finding('info', `needs its build before publishing, which makes ${some(unbuilt, 3)}`))
  if (tests.length > 0)
    findings.push(
      finding(
        'info',
        `would publish ${count(tests.length, 'test file')}, for example ${tests[0]}; a "files" list leaves them out`,
      ),
    )
  return findings
}

function body(largest, growth, tag, packages) {
  const parts = [
    table(
      ['largest tracked files', 'size'],
      largest.map(file => [file.path, bytes(file.bytes)]),
    ),
  ]
  if (growth) {
    const sign = growth.bytes < 0 ? '' : '+'
    parts.push(
      `Since ${tag}: ${sign}${bytes(growth.bytes)}, ${growth.files < 0 ? '' : '+'}${count(growth.files, 'file')}.\n`,
    )
    if (growth.most.length > 0)
      parts.push(
        table(
          ['grew most', 'by'],
          growth.most.map(change => [change.path, bytes(change.bytes)]),
        ),
      )
  }
  if (packages.length > 0) {
    const rows = packages.map(({ name, version, files, unbuilt, bytes: size, packedBytes }) => [
      `${name} ${version}${unbuilt.length > 0 ? ' (before its build)' : ''}`,
      files.length,
      bytes(size),
      packedBytes === undefined ? '' : bytes(packedBytes),
    ])
    parts.push(table(['would be published', 'files', 'unpacked', 'packed'], rows))
  }
  return parts.join('\n')
}
