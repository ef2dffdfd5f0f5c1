// Pages for tests of packages that run in browsers: bundled, on a page that must not evaluate code, in a real browser.
import type { ServerResponse } from 'node:http'
import { chromium } from '@parley/call/testing'
import { chromium as browserType } from 'playwright-core'
import { rolldown } from 'rolldown'
import { expect, onTestFinished } from 'vitest'

/** Undefined where there is no browser. */
export const executablePath = chromium()

/** A module and all that it imports, from the sources, as one file. `source` stands for a module that is in no file. */
export async function bundled(module: string, source?: string): Promise<string> {
  const bundle = await rolldown({
    input: source === undefined ? module : 'page',
    cwd: import.meta.dirname,
    platform: 'browser',
    resolve: { conditionNames: ['parley-source', 'browser', 'import', 'default'] },
    plugins: [
      {
        name: 'page',
        resolveId: id => (id === 'page' ? `${import.meta.dirname}/${module}` : null),
        load: id => (source !== undefined && id.endsWith(`/${module}`) ? source : null),
      },
    ],
    external: /^node:/,
    logLevel: 'silent',
  })
  const { output } = await bundle.generate({ format: 'esm', codeSplitting: false })
  await bundle.close()
  const [{ code, imports, dynamicImports }] = output
  expect([...imports, ...dynamicImports]).toEqual([])
  return code
}

/** Answers `/page.js` with the code, all else with a page that runs it. `connect`: further origins it may reach. */
export function servePage(code: string, url: string | undefined, response: ServerResponse, connect = ''): void {
  const script = url === '/page.js'
  response.setHeader('Content-Security-Policy', `default-src 'self'; connect-src 'self' ${connect}`)
  response.setHeader('Content-Type', script ? 'text/javascript' : 'text/html; charset=utf-8')
  response.end(script ? code : '<!doctype html><script type="module" src="/page.js"></script>')
}

/** What the page says in its title, as JSON. */
export async function titleOf(url: string): Promise<unknown> {
  const browser = await browserType.launch({
    executablePath: executablePath!,
    args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
  })
  onTestFinished(() => browser.close())
  const page = await browser.newPage()
  const problems: string[] = []
  page.on('pageerror', error => problems.push(error.message))
  await page.goto(url)
  // Not `waitForFunction`: it evaluates in the page, which must not.
  await expect.poll(() => page.title(), { timeout: 30_000 }).not.toBe('')
  expect(problems).toEqual([])
  return JSON.parse(await page.title())
}
