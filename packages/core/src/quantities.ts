// Durations and sizes as people write them in a configuration: `10m`, `1h30m`, `500ms`; `8MiB`, `64KiB`, `1000`; and as
// they read them in sentences.

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

/** `400 ms`, `12 s`, `9 min 56 s`, `2 h 3 min`, `3 d 4 h`. */
export function durationText(milliseconds: number): string {
  const ms = Math.max(0, milliseconds)
  const pair = (big: number, one: string, small: number, other: string) => {
    const rest = Math.floor((ms % big) / small)
    return `${Math.floor(ms / big)} ${one}${rest > 0 ? ` ${rest} ${other}` : ''}`
  }
  if (ms > 0 && ms < units.s) return `${Math.round(ms)} ms`
  if (ms < units.m) return `${Math.floor(ms / units.s)} s`
  if (ms < units.h) return pair(units.m, 'min', units.s, 's')
  return ms < units.d ? pair(units.h, 'h', units.m, 'min') : pair(units.d, 'd', units.h, 'h')
}

/** `12 B`, `3.4 KiB`, `5 MiB`. */
export function sizeText(value: number): string {
  const names = ['B', 'KiB', 'MiB', 'GiB', 'TiB']
  let size = value
  let unit = 0
  while (size >= 1024 && unit < names.length - 1) {
    size /= 1024
    unit++
  }
  return `${unit > 0 && size < 99.95 ? Number(size.toFixed(1)) : Math.round(size)} ${names[unit]}`
}
