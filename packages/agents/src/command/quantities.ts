// Durations and sizes as people write them in a configuration: `10m`, `1h30m`, `500ms`; `8MiB`, `64KiB`, `1000`.

/** JSON Schema patterns; editors check with them. */
export const durationPattern = '^(?=\\d)(\\d+d)?(\\d+h)?(\\d+m(?!s))?(\\d+s)?(\\d+ms)?$'
export const sizePattern = '^\\d+ ?(B|KiB|MiB|GiB|kB|MB|GB)?$'

const units = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1000, ms: 1 } as const
const sizes = { B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, kB: 1e3, MB: 1e6, GB: 1e9 } as const

const durationForm = new RegExp(durationPattern)
const sizeForm = new RegExp(sizePattern)

export function parseDuration(text: string): number | undefined {
  if (!durationForm.test(text)) return undefined
  let total = 0
  for (const [, count, unit] of text.matchAll(/(\d+)(ms|[dhms])/g)) {
    total += Number(count) * units[unit as keyof typeof units]
  }
  return Number.isSafeInteger(total) ? total : undefined
}

export function parseBytes(text: string): number | undefined {
  if (!sizeForm.test(text)) return undefined
  const [, count, unit = 'B'] = /^(\d+) ?([A-Za-z]+)?$/.exec(text)!
  const total = Number(count) * sizes[unit as keyof typeof sizes]
  return Number.isSafeInteger(total) ? total : undefined
}

/** `12 B`, `3.4 KiB`, `5 MiB`. */
export function formatBytes(value: number): string {
  const unit = (['GiB', 'MiB', 'KiB'] as const).find(each => value >= sizes[each]) ?? 'B'
  return `${Number((value / sizes[unit]).toFixed(1))} ${unit}`
}
