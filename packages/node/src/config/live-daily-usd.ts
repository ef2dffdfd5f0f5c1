// `budget.daily_usd` as config.yaml has it now (ALP-BUD-01): raising or lowering the cap needs no restart of the
// node. A file that cannot be used changes nothing: a slip must never lift the cap.
import { isUtf8 } from 'node:buffer'
import { machineDisk } from '@parley/keys/files'
import { WatchedFile } from '@parley/link'
import { nodeLimits } from '../limits.ts'
import type { NodeLog } from '../log/log.ts'
import { LINK_SETTINGS } from './link-settings.ts'
import type { Config } from './load.ts'
import { readSource } from './source.ts'

const { key, read, expected } = LINK_SETTINGS.dailyUsd

/**
 * US dollars, or undefined where there is no cap. The file is looked at for every question, and read when it has
 * changed.
 */
export function liveDailyUsd(config: Config, log: Pick<NodeLog, 'warn' | 'info'>): () => number | undefined {
  let cap = config.values.dailyUsd ?? undefined
  const { from } = config.entries.find(entry => entry.key === key)!
  // What was said for this process holds for this process.
  if (from.startsWith('environment ') || from.startsWith('flag ')) return () => cap
  const path = config.paths.config
  const keep = (why: string) => log.warn(`${path}: ${why} Until that is fixed, the daily budget stays ${capText(cap)}.`)
  let looked = false
  const file = new WatchedFile<void>(path, {
    disk: machineDisk,
    most: nodeLimits.configBytes,
    parse: bytes => {
      // Nothing has been read yet: the configuration was.
      if (!looked) return
      // One that is there and cannot be read is no file without a cap.
      const said: Said =
        bytes === undefined && machineDisk.stat(path) ? { problem: 'it cannot be read.' } : dailyUsdIn(bytes, path)
      if ('problem' in said) return keep(said.problem)
      if (said.usd !== cap) log.info(`the daily budget is now ${capText(said.usd)}`)
      cap = said.usd
    },
  })
  looked = true
  return () => {
    try {
      file.now()
    } catch {
      // Not even looked at: the folder is closed. What was known last holds.
    }
    return cap
  }
}

function capText(usd: number | undefined): string {
  return usd === undefined ? 'without a cap' : `$${usd}`
}

type Said = { readonly usd: number | undefined } | { readonly problem: string }

/** Only this one setting: mistakes elsewhere in the file are reported when a node starts. */
function dailyUsdIn(bytes: Buffer | undefined, path: string): Said {
  if (bytes === undefined) return { usd: undefined }
  if (!isUtf8(bytes)) return { problem: 'it is no text.' }
  const source = readSource(bytes.toString('utf8'), path)
  if (!source.ok) return { problem: source.error[0]!.message }
  const budget = memberOf(source.value.value, 'budget')
  const said = memberOf(budget.value, 'daily_usd')
  if (budget.wrong || said.wrong) return { problem: 'budget must be a mapping with daily_usd in it.' }
  if (said.value === undefined) return { usd: undefined }
  // Text is for the environment; in the file it is a slip.
  const usd = typeof said.value === 'number' ? read(said.value) : undefined
  if (usd !== undefined) return { usd: usd ?? undefined }
  const { line, column } = source.value.place(['budget', 'daily_usd'])
  return { problem: `(${line}:${column}) ${key} must be ${expected}.` }
}

/** `wrong`: what should have members has none, and is not left out either. */
function memberOf(value: unknown, name: string): { readonly value?: unknown; readonly wrong: boolean } {
  if (value === undefined) return { wrong: false }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return { wrong: true }
  return { value: (value as Record<string, unknown>)[name], wrong: false }
}
