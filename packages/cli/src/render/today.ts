// What the profile has spent today, for people: the sum against the cap, then who spent it.
import type { TodayView } from '../views.ts'
import { count, money } from './format.ts'
import { grid } from './grid.ts'
import type { Drawing } from './tasks.ts'
import { oneLine } from './text.ts'

/** As the ledger calls them (ALP-BUD-02). */
const NAMES: Readonly<Record<string, string>> = {
  __interactive__: 'your own turns',
  __others__: 'others',
}

export function todayLines(today: TodayView, { width, paint }: Drawing): readonly string[] {
  const { by, cap } = today
  const full = cap !== null && today.used_usd >= cap
  const sum = paint(full ? 'bad' : 'strong', sumOf(today))
  const aside =
    today.reserved_usd > 0 ? [`${money(today.reserved_usd)} more are set aside for turns at work.`] : []
  const next = full
    ? 'Nothing more is started until 00:00 UTC, or until budget.daily_usd in config.yaml is raised.'
    : cap === null
      ? 'There is no cap: budget.daily_usd in config.yaml sets one.'
      : undefined
  const head = [sum, ...aside, ...(next === undefined ? [] : [next])]
  if (by.length === 0) return head
  return [
    ...head,
    '',
    ...grid(
      [
        { header: 'FOR', flexible: true },
        { header: 'COST', align: 'right' },
        { header: 'TOKENS', align: 'right' },
      ],
      by.map(({ name, usd, tokens }) => [
        NAMES[name] ?? `peer ${oneLine(name)}`,
        money(usd),
        tokens > 0 ? count(tokens) : '',
      ]),
      width,
      paint,
    ),
  ]
}

/** `2026-11-15 (UTC): $2.50 of $5.00, 12k tokens`. */
function sumOf({ day, cap, used_usd, used_tokens }: TodayView): string {
  const limit = cap === null ? '' : ` of ${money(cap)}`
  const tokens = used_tokens > 0 ? `, ${count(used_tokens)} tokens` : ''
  return `${day} (UTC): ${money(used_usd)}${limit}${tokens}`
}
