import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import * as browser from './browser.ts'
import * as everything from './index.ts'
import { bundleForBrowser } from './testing/bundle.ts'

test('what is for browsers imports nothing that browsers do not have', async () => {
  const { own, imports } = await bundleForBrowser(new URL('./browser.ts', import.meta.url))
  expect(imports).toEqual([])
  expect(own.includes('CallNode = class') || own.includes('class CallNode')).toBe(true)
  expect(/\b(?:require\(|process\.|Buffer\b)/.exec(own)?.[0]).toBeUndefined()
})

test('what is for browsers is the same as in Node.js, under the same names', () => {
  const all: Record<string, unknown> = { ...everything }
  for (const [name, value] of Object.entries(browser)) expect(value, name).toBe(all[name])
})

test('what is not for browsers is only what needs Node.js', () => {
  const files = (file: string) =>
    [...readFileSync(new URL(file, import.meta.url), 'utf8').matchAll(/from '(\.\/.+)'/g)].map(([, path]) => path!)
  const missing = files('./index.ts').filter(path => !files('./browser.ts').includes(path))
  expect(missing).toEqual([
    './token.ts',
    './transport/duplex.ts',
    './transport/frame.ts',
    './transport/sockets.ts',
    './transport/stdio.ts',
    './transport/websocket.ts',
  ])
})
