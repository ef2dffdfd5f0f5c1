// The process that starts git programs for a node. Starting a process halts the starter while the tables of its memory
// are copied: milliseconds for a node, dozens of times in a run. This one is small.
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
