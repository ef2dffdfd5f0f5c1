// The system's Chromium for tests.
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { orInstalled } from './debian.ts'

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']

function find(): string | undefined {
  const folders = ['/usr/bin', ...(process.env.PATH ?? '').split(delimiter)]
  return folders.flatMap(folder => NAMES.map(name => join(folder, name))).find(path => existsSync(path))
}

/** Its path; undefined if there is none and none may be installed. */
export function chromium(): string | undefined {
  const found = orInstalled('chromium', find)
  if (found === undefined)
    console.warn("no Chromium here: its tests are skipped; on Debian, 'apt-get install chromium' brings it")
  return found
}
