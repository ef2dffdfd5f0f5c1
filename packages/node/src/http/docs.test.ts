// The page to read and try the interface, in a real browser under its real policy: it shows the operations, a token
// that is typed into it is good for a call, and nothing is loaded from elsewhere.
import { chromium } from '@parley/call/testing'
import { type Browser, chromium as browserType } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import { httpNode } from '../testing/http.ts'

const executablePath = chromium()

test.skipIf(executablePath === undefined)(
  'the page shows the operations and calls one with a token, and its policy lets nothing else in',
  async () => {
    const { port, token } = await httpNode()
    const browser: Browser = await browserType.launch({ executablePath: executablePath!, args: ['--no-sandbox'] })
    onTestFinished(() => browser.close())
    const page = await browser.newPage({ viewport: { width: 1280, height: 900 } })
    const complaints: string[] = []
    const asked: string[] = []
    page.on('console', said => said.type() === 'error' && complaints.push(said.text()))
    page.on('pageerror', ({ message }) => complaints.push(message))
    page.on('request', sent => asked.push(sent.url()))
    await page.goto(`http://localhost:${port}/docs/#/node/metrics`)
    await page.getByText('/metrics').first().waitFor()
    await page.getByRole('button', { name: 'Authorize' }).first().click()
    await page.locator('.auth-container input').fill(await token(['read']))
    await page.locator('.auth-btn-wrapper .authorize').click()
    await page.locator('.auth-btn-wrapper .btn-done').click()
    await page.getByRole('button', { name: 'Try it out' }).first().click()
    await page.getByRole('button', { name: 'Execute' }).first().click()
    await page.locator('.live-responses-table').getByText('parley_info').first().waitFor()
    const shot = process.env.PARLEY_SCREENSHOT
    if (shot) await page.screenshot({ path: shot })
    expect(complaints).toEqual([])
    expect(asked.filter(url => !url.startsWith(`http://localhost:${port}/`) && !url.startsWith('data:'))).toEqual([])
  },
)
