// The thread that starts git programs. Starting a process stops the thread that does it for milliseconds, as long as it
// takes to copy the tables of a large process's memory; a run does it dozens of times, and agents' messages must not
// wait for that.
import { parentPort } from 'node:worker_threads'
import { type GitProcess, runGit } from './git-process.ts'

const after = (milliseconds: number, run: () => void) => {
  const timer = setTimeout(run, milliseconds)
  return () => clearTimeout(timer)
}

parentPort!.on('message', async ({ id, process }: { readonly id: number; readonly process: GitProcess }) => {
  parentPort!.postMessage({ id, end: await runGit(process, after) })
})
