// Colours by meaning: a renderer says what something is, not how it looks.
import { styleText } from 'node:util'

const STYLES = {
  good: 'green',
  bad: 'red',
  warning: 'yellow',
  active: 'cyan',
  quiet: 'dim',
  strong: 'bold',
} as const

export type Tone = keyof typeof STYLES
export type Paint = (tone: Tone, text: string) => string

export const plain: Paint = (_tone, text) => text

export const coloured: Paint = (tone, text) =>
  text === '' ? '' : styleText(STYLES[tone], text, { validateStream: false })
