// `parley trail follow`: entries of the record of a run as they arrive, until it is over.
import { type Context, command } from '../../command.ts'
import { EXIT } from '../../exit.ts'
import { asFailure } from '../../failure.ts'
import type { Input, NodeClient } from '../../node/client.ts'
import { isOver, type TrailPage } from '../../node/views.ts'
import { drawing, printJson, printLines } from '../../output.ts'
import { entryLines } from '../../render/trail.ts'
import { interruption } from '../../terminal.ts'
import { LAST, RUN } from '../words.ts'
import { FILTER_FLAGS, filterOf } from './filter.ts'

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
    const query = { run: words[0] ?? LAST, ...filter, after: flags.after ?? 0 }
    const ended = awaitEnd(context.api, query.run, signal).then(() => over.abort())
    const pages = context.api.streams.trail.watch(query, {
      signal,
      resume: { cursor: page => page.cursor, input: (input, cursor) => ({ ...input, after: Number(cursor) }) },
    })
    const last = await showPages(context, pages, query.after)
    over.abort()
    await ended
    if (interrupted.signal.aborted) return EXIT.interrupted
    await showRest(context, { ...query, after: last })
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

async function showPages(context: Context, pages: AsyncIterable<TrailPage>, after: number): Promise<number> {
  let last = after
  for await (const page of pages) {
    showPage(context, page)
    last = Math.max(last, page.cursor)
    await context.terminal.drained()
  }
  return last
}

/** What became durable between the last page and the end. */
async function showRest(context: Context, query: Input<'/trail/watch'> & { readonly after: number }): Promise<void> {
  let { after } = query
  for (;;) {
    const page = await context.api.trail.query({ ...query, after })
    showPage(context, page)
    if (!page.more || page.cursor <= after) return
    after = page.cursor
  }
}

function showPage(context: Context, { entries }: TrailPage): void {
  if (context.global.json) for (const entry of entries) printJson(context, entry)
  else printLines(context, entryLines(entries, drawing(context)))
}
