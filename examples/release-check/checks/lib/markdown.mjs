// Small helpers for text that people read.

export const severities = ['error', 'warning', 'info']

/** Text that stays in its table cell and is shown as it is. */
export function cell(text) {
  return String(text)
    .replace(/\s+/g, ' ')
    .replace(/[|<\\]/g, found => ({ '|': '\\|', '<': '&lt;', '\\': '\\\\' })[found])
    .trim()
}

export function table(head, rows) {
  const line = cells => `| ${cells.map(cell).join(' | ')} |`
  return [line(head), `|${head.map(() => '---').join('|')}|`, ...rows.map(line), ''].join('\n')
}

export function place({ file, line }) {
  if (!file) return ''
  return line ? `${file}:${line}: ` : `${file}: `
}

export function bytes(count) {
  if (Math.abs(count) < 1024) return `${count} B`
  const units = ['KiB', 'MiB', 'GiB', 'TiB']
  let value = count / 1024
  let unit = 0
  while (Math.abs(value) >= 1024 && unit < units.length - 1) {
    value /= 1024
    unit++
  }
  return `${value.toFixed(1)} ${units[unit]}`
}

/** `1 file`, `2 files`, `1,204 files`. */
export function count(number, one, many = `${one}s`) {
  return `${number.toLocaleString('en')} ${number === 1 ? one : many}`
}

/** The first names, and how many more there are. */
export function some(names, most = 5) {
  const rest = names.length - most
  return names.slice(0, most).join(', ') + (rest > 0 ? ` and ${rest} more` : '')
}
