// All items of a list, page after page (ALX-SESS-09).
import { AlxProtocolViolation } from './errors.ts'
import { clientLimits } from './limits.ts'

export async function* everyItem<P extends { readonly nextCursor: string | null }, T>(
  request: string,
  page: (cursor: string | undefined) => Promise<P>,
  itemsOf: (page: P) => readonly T[],
  first?: string,
): AsyncGenerator<T, void> {
  let cursor = first
  for (let count = 0; count < clientLimits.pages; count += 1) {
    const next = await page(cursor)
    yield* itemsOf(next)
    if (next.nextCursor === null) return
    if (next.nextCursor === cursor)
      throw new AlxProtocolViolation(
        'ALX-SESS-09',
        'nextCursor is the cursor that was sent, so paging never ends',
        request,
      )
    cursor = next.nextCursor
  }
  throw new RangeError(
    `${request} has more than ${clientLimits.pages} pages. Ask for larger pages, or narrow the query.`,
  )
}
