// The node's log: JSON lines in the profile's log file, and short lines on a terminal where somebody watches.
import { type Clock, formatTimestamp, SystemClock } from '@parley/core'
import { pino } from 'pino'
import { nodeLimits } from '../limits.ts'
import { LogFile, type LogFileOptions } from './log-file.ts'
import { scrub, withoutSecrets } from './redact.ts'

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

export interface LogOptions {
  readonly level: LogLevel
  /** Where JSON lines go. */
  readonly file?: string
  readonly fileOptions?: LogFileOptions
  /** Where short lines go. */
  readonly terminal?: { readonly write: (text: string) => unknown; readonly colour?: boolean }
  readonly clock?: Clock
}

export interface NodeLog {
  debug(message: string, facts?: object): void
  info(message: string, facts?: object): void
  warn(message: string, facts?: object): void
  error(message: string, facts?: object): void
  close(): void
}

export function openLog(options: LogOptions): NodeLog {
  const { clock = new SystemClock(), terminal } = options
  const file = options.file === undefined ? undefined : new LogFile(options.file, options.fileOptions)
  const write = (given: string) => {
    const line = bounded(scrub(given))
    file?.write(line)
    terminal?.write(`${shortLine(line, terminal.colour ?? false)}\n`)
  }
  const logger = pino(
    {
      level: options.level,
      base: { pid: process.pid },
      formatters: { level: label => ({ level: label }) },
      timestamp: () => `,"time":"${formatTimestamp(clock.now())}"`,
    },
    { write },
  )
  const at = (level: 'debug' | 'info' | 'warn' | 'error') => (message: string, facts?: object) => {
    logger[level](facts === undefined ? {} : (withoutSecrets(facts) as object), message)
  }
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    close: () => file?.close(),
  }
}

/** Of a line that is too long the beginning is kept; it stays JSON. */
function bounded(line: string): string {
  if (line.length <= nodeLimits.logLine) return line
  const { time, level, pid, msg } = JSON.parse(line) as Record<string, unknown>
  const message = String(msg).slice(0, nodeLimits.logLine / 2)
  return `${JSON.stringify({ level, time, pid, cut: line.length, msg: message })}\n`
}

const colours: Readonly<Record<string, string>> = { debug: '2', info: '36', warn: '33', error: '31' }
const unseen = /[\p{Cc}\p{Cf}]/gu

/** `12:03:04 info  the run has started run=run_…`: what comes from outside cannot steer the terminal. */
export function shortLine(line: string, colour: boolean): string {
  const { time, level, pid: _pid, msg, ...facts } = JSON.parse(line) as Record<string, unknown>
  const name = String(level).padEnd(5)
  const painted = colour ? `\u001b[${colours[String(level)] ?? '0'}m${name}\u001b[0m` : name
  const rest = Object.entries(facts).map(([key, value]) => ` ${key}=${factText(value)}`)
  const text = `${String(msg)}${rest.join('')}`.replace(unseen, ' ')
  return `${String(time).slice(11, 19)} ${painted} ${text}`
}

function factText(value: unknown): string {
  if (typeof value === 'string') return /[\s"=]/.test(value) ? JSON.stringify(value) : value
  if (typeof value === 'object' && value !== null && 'message' in value) return JSON.stringify(value.message)
  return JSON.stringify(value)
}
