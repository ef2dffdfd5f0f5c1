#!/usr/bin/env node
// Links in the documentation: relative links, anchors and images in Markdown files lead somewhere. Links to other sites
// are counted, not followed: no network.
import { readFileSync } from 'node:fs'
import { check, say } from './lib/check.mjs'
import { limits } from './lib/limits.mjs'
import { count } from './lib/markdown.mjs'
import { linksOf } from './lib/markdown-links.mjs'
import { Tree } from './lib/tree.mjs'

/** Copies of others' work, and files that tests read. */
const SKIPPED = /(?:^|\/)(?:node_modules|vendor|third_party|fixtures?|testdata|__snapshots__)\//

await check('links', 'Links in the documentation', ({ commit, top, files }) => {
  const documents = files.filter(
    ({ path, bytes, kind }) =>
      /\.(?:md|markdown)$/i.test(path) && kind === 'blob' && !SKIPPED.test(path) && bytes <= limits.documentBytes,
  )
  say(`links: reading ${count(documents.length, 'Markdown file')} …`)
  const tree = new Tree(top)
  const seen = { links: 0, outside: 0 }
  const findings = documents.flatMap(({ path }) =>
    linksOf(readFileSync(path, 'utf8')).flatMap(link => {
      seen.links++
      if (/^(?:[a-z][a-z0-9+.-]*:|\/\/)/i.test(link.target)) {
        seen.outside++
        return []
      }
      const problem = tree.problemOf(path, link)
      return problem ? [{ ...problem, file: path, line: link.line }] : []
    }),
  )
  const broken = findings.filter(({ severity }) => severity === 'warning').length
  const inside = seen.links - seen.outside
  return {
    summary: `${count(inside, 'link')} inside the repository in ${count(documents.length, 'Markdown file')}, ${broken === 0 ? 'none' : broken} broken; ${count(seen.outside, 'link')} to other sites not followed.`,
    findings,
    facts: { commit, documents: documents.length, inside, outside: seen.outside, broken },
  }
})
