// For tests with real processes: a temporary folder with scripts, turns in it, and the proof that nothing is left.
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import type { RunId, TurnEvent, TurnInput, WorkspaceId } from '@parley/core'
import { expect, onTestFinished } from 'vitest'
import type { CommandAdapterOptions } from '../command/adapter.ts'
import type { MeteredResult } from '../metering.ts'
import { endMarked } from '../processes.ts'
import { type Config, commandAdapter } from './command.ts'
import { findMarked } from './marked.ts'

/** Long enough for every program that takes the hint; those that do not are meant to be killed. */
export const GRACE = 200

export interface Taken {
  readonly result: MeteredResult
  readonly events: readonly TurnEvent[]
}

export interface Turning {
  readonly done: Promise<Taken>
  readonly events: readonly TurnEvent[]
  readonly abort: (reason?: unknown) => void
  /** An event like this has come. */
  until(holds: (event: TurnEvent) => boolean): Promise<void>
}

export class Workshop {
  readonly folder = mkdtempSync(join(tmpdir(), 'parley-agents-'))
  /** The folder of the turns. */
  readonly work = join(this.folder, 'work')
  /** Where an adapter makes its own temporary folders. */
  readonly temporary = join(this.folder, 'tmp')
  readonly run: RunId = `run_${crypto.randomUUID()}` as RunId
  #turns = 0

  constructor() {
    for (const folder of [this.work, this.temporary]) mkdirSync(folder)
    onTestFinished(async () => {
      await endMarked(`${this.run}/`, { grace: 0 })
      rmSync(this.folder, { recursive: true, force: true })
    })
  }

  /** A script of Node.js; its path. */
  node(name: string, source: string): string {
    return this.file(name, `#!${process.execPath}\n${source}`)
  }

  /** A script of the shell; its path. */
  shell(name: string, source: string): string {
    return this.file(name, `#!/bin/sh\n${source}`)
  }

  file(name: string, content: string, mode = 0o755): string {
    const path = join(this.folder, name)
    mkdirSync(join(path, '..'), { recursive: true })
    writeFileSync(path, content)
    chmodSync(path, mode)
    return path
  }

  read(name: string): string {
    return readFileSync(join(this.folder, name), 'utf8')
  }

  input(changes: Partial<TurnInput> = {}): TurnInput {
    return {
      run: this.run,
      workspace: `ws_${++this.#turns}` as WorkspaceId,
      agent: 'tester#1',
      epoch: 1,
      prompt: 'do it',
      context: [],
      folder: this.work,
      signal: new AbortController().signal,
      ...changes,
    }
  }

  /** Begins a turn of a program. */
  begin(config: Config, changes: Partial<TurnInput> = {}, options: CommandAdapterOptions = {}): Turning {
    const places = { base: this.folder, temporary: this.temporary }
    const adapter = commandAdapter(config, { ...places, grace: GRACE, ...options })
    const controller = new AbortController()
    const events: TurnEvent[] = []
    const waiting: { readonly holds: (event: TurnEvent) => boolean; readonly resolve: () => void }[] = []
    const emit = (event: TurnEvent) => {
      events.push(event)
      for (const { holds, resolve } of waiting) if (holds(event)) resolve()
    }
    const turn = adapter.takeTurn(this.input({ signal: controller.signal, ...changes }), emit)
    return {
      done: turn.then(result => ({ result, events })),
      events,
      abort: reason => controller.abort(reason),
      until: holds =>
        events.some(holds) ? Promise.resolve() : new Promise(resolve => waiting.push({ holds, resolve })),
    }
  }

  /** A whole turn of a program, after which nothing of it is left. */
  async take(config: Config, changes: Partial<TurnInput> = {}, options: CommandAdapterOptions = {}): Promise<Taken> {
    const taken = await this.begin(config, changes, options).done
    await this.expectNothingLeft()
    return taken
  }

  async expectNothingLeft(): Promise<void> {
    expect(await findMarked(`${this.run}/`)).toEqual([])
  }

  /** This process's PATH with a folder in front. */
  path(folder: string): string {
    return [folder, process.env.PATH ?? ''].join(delimiter)
  }
}

export function isText(text: string): (event: TurnEvent) => boolean {
  return event => event.type === 'text' && event.text === text
}
