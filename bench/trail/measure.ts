// Measuring: concurrent loops for a fixed time, medians over rounds, and tables that can be pasted into the
// documentation.
import { cpus, totalmem } from 'node:os'

/** Runs `count` loops of an asynchronous step for some milliseconds; returns steps per second. */
export async function loops(
  count: number,
  milliseconds: number,
  step: (index: number) => Promise<unknown>,
): Promise<number> {
  let steps = 0
  const start = performance.now()
  const end = start + milliseconds
  const loop = async (index: number) => {
    do {
      await step(index)
      steps++
    } while (performance.now() < end)
  }
  await Promise.all(Array.from({ length: count }, (_, index) => loop(index)))
  return (steps / (performance.now() - start)) * 1000
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? 0
}

export function rate(value: number): string {
  return Math.round(value).toLocaleString('en-US')
}

export function ratio(value: number): string {
  return value.toFixed(2)
}

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map((_, index) => (index === 0 ? '---' : '---:'))), ...rows.map(line)].join('\n')
}

export function machine(): string {
  const [cpu] = cpus()
  return `${cpus().length} cores (${cpu?.model.trim() ?? 'unknown'}), ${Math.round(totalmem() / 2 ** 30)} GiB, ${process.platform}, Node ${process.versions.node}`
}
