// A real terminal for end-to-end tests: tmux, which shows the screen as a person would see it.
import { execFileSync, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import type { World } from './world.ts'

export const hasTmux = spawnSync('tmux', ['-V']).status === 0

export class Pty implements Disposable {
  readonly #socket: string
  readonly #env: Record<string, string>

  /** Runs a shell line in the project; the window stays when it has ended. */
  constructor(world: World, line: string, { columns = 80, rows = 24 } = {}) {
    this.#socket = join(world.folder, 'tmux')
    this.#env = { ...world.env, TERM: 'xterm-256color', SHELL: '/bin/sh', TMUX: '' }
    const size = ['-x', String(columns), '-y', String(rows)]
    const kept = `${line}; echo "ended with $?"; stty -a | grep -o '[-]*icanon'; read _`
    this.#tmux('-f', '/dev/null', 'new-session', '-d', ...size, '-c', world.project, kept)
  }

  /** Literal text and keys by the names that tmux has: `Enter`, `C-c`, `Escape`. */
  press(...keys: readonly string[]): void {
    this.#tmux('send-keys', ...keys)
  }

  /** As the terminal's own menu does: marked where the program has asked for that. */
  paste(text: string): void {
    this.#tmux('set-buffer', text)
    this.#tmux('paste-buffer', '-p')
  }

  resize(columns: number, rows: number): void {
    this.#tmux('resize-window', '-x', String(columns), '-y', String(rows))
  }

  /** As many lines as there are, without empty ones at the end. */
  screen(...how: readonly '-e'[]): string {
    return this.#tmux('capture-pane', '-p', ...how).trimEnd()
  }

  /** Presses a key until it has had its effect: one that comes too early is no answer. */
  async insist(key: string, effect: string): Promise<string> {
    for (let tries = 0; tries < 20; tries++) {
      this.press(key)
      try {
        return await this.shows(effect, 1000)
      } catch (thrown) {
        if (!this.screen().includes('press the key again')) throw thrown
      }
    }
    throw new Error(`${key} has no effect:\n${this.screen()}`)
  }

  /** The process that runs in it, below the shell. */
  get pid(): number {
    const shell = this.#tmux('display-message', '-p', '#{pane_pid}').trim()
    return Number(execFileSync('pgrep', ['-n', '-P', shell], { encoding: 'utf8' }).trim())
  }

  /** The screen as soon as it holds the text. */
  async shows(text: string | RegExp, within = 20_000): Promise<string> {
    for (let waited = 0; ; waited += 50) {
      const screen = this.screen()
      if (typeof text === 'string' ? screen.includes(text) : text.test(screen)) return screen
      if (waited >= within) throw new Error(`the terminal does not show ${text}:\n${screen}`)
      await new Promise(resolve => setTimeout(resolve, 50))
    }
  }

  [Symbol.dispose](): void {
    spawnSync('tmux', ['-S', this.#socket, 'kill-server'])
  }

  #tmux(...args: readonly string[]): string {
    return execFileSync('tmux', ['-S', this.#socket, ...args], { encoding: 'utf8', env: this.#env })
  }
}
