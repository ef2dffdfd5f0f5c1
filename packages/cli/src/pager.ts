// Long output on a terminal goes through the pager that the user's git uses: GIT_PAGER, core.pager, PAGER, then less.
import { execFile } from 'node:child_process'
import type { Context } from './command.ts'
import { cliLimits } from './limits.ts'

export async function pageLines(context: Context, all: readonly string[]): Promise<void> {
  const { terminal } = context
  const pager = terminal.live ? await pagerOf(context) : undefined
  if (pager !== undefined && (await terminal.page(pager, `${all.join('\n')}\n`))) return
  // Not wrapped: a patch is to be copied.
  terminal.out(`${all.join('\n')}\n`)
}

/** Undefined where the user wants none. */
function pagerOf({ env, cwd }: Pick<Context, 'env' | 'cwd'>): Promise<string | undefined> {
  return new Promise(resolve => {
    execFile('git', ['var', 'GIT_PAGER'], { cwd, env, timeout: cliLimits.probeMs }, (failed, said) => {
      const pager = failed ? (env.PAGER ?? 'less') : said.trim()
      resolve(pager === '' || pager === 'cat' ? undefined : pager)
    })
  })
}
