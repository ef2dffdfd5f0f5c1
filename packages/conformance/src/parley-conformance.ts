#!/usr/bin/env node
// The command `parley-conformance`: the kit against a host, results line by line, and the claim.
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { claimOf, SHEET_ROWS } from './claim.ts'
import type { Host } from './host.ts'
import { HELP, type Options, parseOptions } from './options.ts'
import { runScenarios, type ScenarioResult } from './runner.ts'
import { type Scenario, scenarios } from './scenario.ts'
import './scenarios/index.ts'

const MARKS = { passed: 'ok  ', failed: 'FAIL', unsupported: 'none', 'not tested': '-   ' } as const

async function main(args: readonly string[]): Promise<number> {
  const options = parseOptions(args)
  if (typeof options === 'string') return refuse(`${options}\n\n${HELP}`)
  if (options.help) return say(HELP.trimEnd())
  const about = ({ id, rules }: Scenario, wanted: string) => id === wanted || rules.includes(wanted)
  const chosen = scenarios().filter(each => options.only?.some(wanted => about(each, wanted)) ?? true)
  const unknown = options.only?.find(wanted => !chosen.some(each => about(each, wanted)))
  if (unknown !== undefined) return refuse(`The kit has no scenario of ${unknown}; --list shows those that it has.`)
  if (options.list) return say(chosen.map(({ level, title }) => `${level}  ${title}`).join('\n'))
  const host = await hostOf(options.host)
  return typeof host === 'string' ? refuse(host) : test(host, chosen, options)
}

async function test(host: Host, chosen: readonly Scenario[], options: Options): Promise<number> {
  const level = options.level ?? host.level
  const onResult = options.json ? undefined : printed
  const results = await runScenarios(host, chosen, { level, bail: options.bail, ...(onResult && { onResult }) })
  const partial = options.only !== undefined || options.bail
  const claim = claimOf(host, level, results, partial)
  if (options.json) say(JSON.stringify({ claim, results }, null, 2))
  else {
    const missing = SHEET_ROWS.filter(id => !scenarios().some(each => each.id === id)).length
    const kit = missing === 0 ? '' : `\nThe kit has no scenario yet for ${missing} of the ${SHEET_ROWS.length} rows.`
    say(`\n${host.name} ${host.version}\n${claim.text}${kit}`)
  }
  return claim.met ? 0 : 1
}

function printed({ title, status, message, milliseconds }: ScenarioResult): void {
  say(`${MARKS[status]}  ${title}  (${milliseconds} ms)`)
  if (message !== undefined) say(message.replaceAll(/^/gm, '        '))
}

/** The host, or why there is none. */
async function hostOf(module: string | undefined): Promise<Host | string> {
  if (module === undefined) return (await import('./hosts/parley.ts')).host
  const target = existsSync(module) ? pathToFileURL(resolve(module)).href : module
  try {
    const { host } = (await import(target)) as { readonly host?: Host }
    return host ?? `${module} does not export a host.`
  } catch (cause) {
    return `${module} could not be loaded: ${cause instanceof Error ? cause.message : String(cause)}`
  }
}

function say(text: string): number {
  console.log(text)
  return 0
}

function refuse(text: string): number {
  console.error(text)
  return 2
}

process.exitCode = await main(process.argv.slice(2))
