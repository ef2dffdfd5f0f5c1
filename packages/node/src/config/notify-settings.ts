// How people learn that something waits or has ended. Everything is off until it is switched on.
import { Type } from '@parley/core'
import { setting, yesOrNo } from './setting.ts'

const TERMINAL_NOTES = ['off', 'osc9', 'osc777'] as const

export const NOTIFY_SETTINGS = {
  notifyBell: yesOrNo('notify.bell', false, {
    title: 'Bell',
    description: 'Whether a terminal that follows a run or the inbox rings when something waits or ends.',
  }),
  notifyTerminal: setting<(typeof TERMINAL_NOTES)[number]>({
    key: 'notify.terminal',
    schema: Type.Enum([...TERMINAL_NOTES], {
      default: 'off',
      title: 'Notification of the terminal',
      description:
        'The escape sequence with which a terminal that follows a run or the inbox is asked for a notification: osc9 (iTerm2, Windows Terminal, kitty) or osc777 (urxvt, foot, Ghostty).',
    }),
    fallback: 'off',
    expected: `one of ${TERMINAL_NOTES.join(', ')}`,
    read: value => TERMINAL_NOTES.find(each => each === value),
  }),
  notifyDesktop: yesOrNo('notify.desktop', false, {
    title: 'Desktop notification',
    description:
      'Whether the node shows a notification on the desktop when something waits or a run ends, with `notify-send` (Linux) or `osascript` (macOS).',
  }),
} as const
