// The thread that owns the index file. It loads first what opening needs, since opening a trail waits for that.
import { readlinkSync } from 'node:fs'
import { setPriority } from 'node:os'
import { parentPort } from 'node:worker_threads'
import { coldFiles } from '../archive/layout.ts'
import { DiskFiles } from '../log/disk-files.ts'
import { faultJson } from './fault.ts'
import { IndexLog } from './log-reader.ts'
import type { FromWorker, ToWorker, WorkerOptions } from './protocol.ts'
import { openIndexFile } from './sqlite/sqlite-open.ts'

const INDEX_NICENESS = 10

const port = parentPort!
const say = (message: FromWorker) => port.postMessage(message)

/** What is heard before everything is loaded waits here. */
const early: ToWorker[] = []
let hear = (message: ToWorker): unknown => (message.kind === 'start' ? start(message.options) : early.push(message))

yieldToWriters()
port.on('message', (message: ToWorker) => hear(message))

async function start(options: WorkerOptions): Promise<void> {
  try {
    const only = (folder: string) => new DiskFiles(folder, { readOnly: true })
    const { cold, replica } = options
    const files = cold === undefined ? only(options.folder) : coldFiles(only(cold))
    const reader = new IndexLog(
      files,
      options.trail,
      options.end,
      replica === undefined ? undefined : () => only(replica),
    )
    const opened = openIndexFile(options.file, options.trail, options.end, reader)
    // Whether old heads are lost is known only once the log has been read again.
    const told = opened.oldHeads.length === 0
    if (told) say({ kind: 'opened', opening: { ...opened.opening, lostHeads: [] } })
    const { IndexServer } = await import('./sqlite/index-server.ts')
    const server = new IndexServer(port, options, reader, opened, told)
    hear = message => server.hear(message)
    for (const message of early) server.hear(message)
  } catch (cause) {
    say({ kind: 'failed', error: faultJson(cause) })
    port.close()
  }
}

/** On few cores, answering an append matters more than indexing it. Only Linux can tell threads apart. */
function yieldToWriters(): void {
  try {
    const thread = Number(readlinkSync('/proc/thread-self').split('/').at(-1))
    setPriority(thread, INDEX_NICENESS)
  } catch {
    // Nothing depends on it.
  }
}
