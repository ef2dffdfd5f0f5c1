// The command line of `parley-conformance`.
import { parseArgs } from 'node:util'
import { LEVELS, type Level } from './host.ts'

export const HELP = `Usage: parley-conformance [options]

Runs the scenarios of WACP v0.1 against an implementation and says which level it meets, with which deviations.

  --host MODULE     the implementation: a path or a package that exports \`host\` (default: Parley)
  --level N         the level to claim: 1 (Core), 2 (Standard) or 3 (Full) (default: what the host claims)
  --only IDS        only these rows, or those of these rules, as in --only WP-017,W-ENV-05
  --bail            end at the first row that is not met
  --list            list the scenarios and run none
  --json            results and claim as one JSON object
  --help            this text

A scenario is passed, failed, unsupported (the host lacks an operation) or not tested (the host cannot inject a fault that
it needs). Failed and unsupported ones are deviations.

Exit code: 0 when the claimed level is met, 1 when it is not, 2 when nothing could be run.
`

export interface Options {
  readonly host: string | undefined
  readonly level: Level | undefined
  readonly only: readonly string[] | undefined
  readonly bail: boolean
  readonly list: boolean
  readonly json: boolean
  readonly help: boolean
}

/** Says what is wrong as a text. */
export function parseOptions(args: readonly string[]): Options | string {
  let values: Readonly<Record<string, string | boolean | undefined>>
  try {
    ;({ values } = parseArgs({
      args: [...args],
      options: {
        host: { type: 'string' },
        level: { type: 'string' },
        only: { type: 'string' },
        bail: { type: 'boolean' },
        list: { type: 'boolean' },
        json: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    }))
  } catch (cause) {
    return cause instanceof Error ? cause.message : String(cause)
  }
  const level = LEVELS.find(each => String(each) === values.level)
  if (values.level !== undefined && level === undefined)
    return `There is no level '${values.level}'; the levels are 1, 2 and 3.`
  const only =
    values.only === undefined
      ? undefined
      : String(values.only)
          .split(',')
          .map(id => id.trim())
  const wrong = only?.find(id => !/^W(?:[PMX]-\d{3}|(?:-[A-Z]+)+-\d\d)$/.test(id))
  if (wrong !== undefined) return `'${wrong}' is not the id of a row, such as WP-017, or of a rule, such as W-ENV-05.`
  return {
    host: values.host === undefined ? undefined : String(values.host),
    level,
    only,
    bail: values.bail === true,
    list: values.list === true,
    json: values.json === true,
    help: values.help === true,
  }
}
