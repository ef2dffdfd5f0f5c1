// The process that starts git programs for a node, and ends with it. A process that starts another stands still for as
// long as it takes to copy the tables of its memory, all threads included: milliseconds for a node, dozens of times in
// a run. This one is small.
import { type GitProcess, runGit } from './git-process.ts'

const after = (milliseconds: number, run: () => void) => {
  const timer = setTimeout(run, milliseconds)
  return () => clearTimeout(timer)
}

process.on('message', async ({ id, program }: { readonly id: number; readonly program: GitProcess }) => {
  const end = await runGit(program, after)
  // The node may be gone by now; what git has done is done.
  if (process.connected) process.send!({ id, end })
})
// What a terminal sends to everybody is for the node to decide.
process.on('SIGINT', () => undefined)
