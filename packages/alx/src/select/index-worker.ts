// The thread of the index: takes in what it is fed, and answers searches, in the order in which they come. It loads
// nothing but SQLite, so it is there within milliseconds.
import { parentPort } from 'node:worker_threads'
import { IndexFile } from './index-file.ts'
import type { FromIndex, Hit, ToIndex } from './index-protocol.ts'

const port = parentPort!
const say = (message: FromIndex) => port.postMessage(message)
const done = (id: number, hits: readonly Hit[] = []) => say({ kind: 'done', id, hits })
let index: IndexFile | undefined

port.on('message', (message: ToIndex) => {
  try {
    hear(message)
  } catch (thrown) {
    say({ kind: 'broken', message: thrown instanceof Error ? thrown.message : String(thrown) })
    end()
  }
})

function hear(message: ToIndex): void {
  switch (message.kind) {
    case 'start':
      index = new IndexFile(message.file)
      say({ kind: 'opened', point: index.point() })
      return
    case 'feed':
      index?.feed(message.rows, message.point)
      done(message.id)
      return
    case 'search':
      done(message.id, index?.search(message.search))
      return
    case 'clear':
      index?.clear()
      done(message.id)
      return
    case 'close':
      end()
      return
    default:
      message satisfies never
  }
}

function end(): void {
  try {
    index?.close()
  } catch {
    // What is not in the file is taken from the library again.
  }
  port.close()
}
