#!/usr/bin/env node
// `valid.mjs CHECK …`: whether release-report/<check>.json has the form that the report needs. The team file uses it as
// the `check:` of a task; it ends with 1 and says what is wrong where it has not.
import { readPart } from './lib/part.mjs'

for (const check of process.argv.slice(2)) {
  const { problem } = readPart(check)
  if (problem) process.exitCode = 1
  console.log(problem ?? `release-report/${check}.json is as it must be`)
}
