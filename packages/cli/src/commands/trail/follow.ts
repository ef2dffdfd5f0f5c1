// `parley trail follow`: entries of the record of a run as they arrive, until it is over.
import { type Context, command } from '../../command.ts'
import { EXIT } from '../../exit.ts'
import { asFailure } from '../../failure.ts'
import type { Input, NodeClient } from '../../node/client.ts'
import { isOver, type TrailPage } from '../../node/views.ts'
import { drawing, printJson, printLines } from '../../output.ts'
import { entryLines, type WorkNames } from '../../render/trail.ts'
import { interruption } from '../../terminal.ts'
import { runHere } from '../which-run.ts'
import { RUN } from '../words.ts'
import { FILTER_FLAGS, filterOf } from './filter.ts'
import { namesIn } from './names.ts'

export default command({
  args: [RUN],
  flags: {
    ...FILTER_FLAGS,
    after: { value: 'SEQ', whole: true, summary: 'Start after this entry (default: at the beginning)' },
  },
  examples: [
    ['parley trail follow', 'the newest run, until Ctrl-C or its end'],
    ['parley trail follow run_k3f9qz --after 120 --json', 'one JSON line per entry, from a known position on'],
  ],
  async run(context, { flags, words }) {
    const filter = filterOf(flags)
    using interrupted = interruption(context.terminal)
    const over = new AbortController()
    const signal = AbortSignal.any([interrupted.signal, over.signal])
    const query = { run: await runHere(context, words[0]), ...filter, after: flags.after ?? 0 }
    const ended = awaitEnd(context.api, query.run, signal).then(() => over.abort())
    const pages = context.api.streams.trail.watch(query, {
      signal,
      resume: { cursor: page => page.cursor, input: (input, cursor) => ({ ...input, after: Number(cursor) }) },
    })
    const show = shower(context)
    const last = await showPages(context, pages, query.after, show)
    over.abort()
    await ended
    if (interrupted.signal.aborted) return EXIT.interrupted
    await showRest(context, { ...query, after: last }, show)
  },
})

/** Resolves when the run is over, or when `signal` fires for a run that only the trail knows. */
async function awaitEnd(api: NodeClient, run: string, signal: AbortSignal): Promise<void> {
  try {
    for await (const { state } of api.streams.runs.follow({ run }, { signal })) if (isOver(state)) return
  } catch (thrown) {
    if (asFailure(thrown).code !== 'not_found') return
    await new Promise<void>(resolve => {
      if (signal.aborted) resolve()
      else signal.addEventListener('abort', () => resolve(), { once: true })
    })
  }
}

type Show = (page: TrailPage) => Promise<void>

async function showPages(
  context: Context,
  pages: AsyncIterable<TrailPage>,
  after: number,
  show: Show,
): Promise<number> {
  let last = after
  for await (const page of pages) {
    await show(page)
    last = Math.max(last, page.cursor)
    await context.terminal.drained()
  }
  return last
}

/** What became durable between the last page and the end. */
async function showRest(
  context: Context,
  query: Input<'/trail/watch'> & { readonly after: number },
  show: Show,
): Promise<void> {
  let { after } = query
  for (;;) {
    const page = await context.api.trail.query({ ...query, after })
    await show(page)
    if (!page.more || page.cursor <= after) return
    after = page.cursor
  }
}

/** For people with the names of work, which are asked for again when there is more of it. */
function shower(context: Context): Show {
  let names: WorkNames | undefined
  /** Workspaces that are in the names, or have none. */
  const known = new Set<string>()
  return async ({ run, entries }) => {
    if (context.global.json) {
      for (const entry of entries) printJson(context, entry)
      return
    }
    if (entries.some(({ workspace }) => workspace !== null && !known.has(workspace))) {
      const seen = await namesIn(context.api, run)
      names = seen?.names
      // What a view does not show yet is asked for again.
      for (const { workspace, seq } of entries)
        if (workspace !== null && seq <= (seen?.cursor ?? seq)) known.add(workspace)
    }
    printLines(context, entryLines(entries, drawing(context), names))
  }
}
