// Asks the machine whether a folder can be written, files opened and processes started. What it cannot tell is no
// fault.
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { type FileHandle, open, rm, stat, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { isDiskFault, type MachineFault, machineFaultOf, sharing } from '@parley/core'
import { machineLimits, machineTimes } from './limits.ts'

export async function probeMachine(
  fault: MachineFault | undefined,
  folders: readonly string[],
): Promise<MachineFault | undefined> {
  for (const folder of folders) {
    const found = await probeFolder(folder)
    if (found) return found
  }
  return fault && !isDiskFault(fault) ? ((await probeFiles(folders[0]!)) ?? (await probeProcess())) : undefined
}

/** Many turns end at the same time, and a look makes the disk wait for the bytes. */
const probeFolder = sharing(lookAt)

/** `ENOSPC` where hardly any room or no further file is left; else what a write to it answers. */
async function lookAt(path: string): Promise<MachineFault | undefined> {
  const folder = await nearestFolder(path)
  try {
    const { bavail, bsize, files, ffree } = await statfs(folder)
    if (bavail * bsize < machineLimits.roomBytes) return { code: 'ENOSPC', where: folder }
    // The end of a turn gives some back before it is looked: files of its own, which the next turn needs again.
    if (ffree < Math.min(machineLimits.roomInodes, files * machineLimits.roomInodesPart))
      return { code: 'ENOSPC', where: folder, inodes: true }
    await writeProbe(folder)
    return undefined
  } catch (cause) {
    return faultAt(cause, folder)
  }
}

/** The folder itself may be gone by now, or have been a file. */
async function nearestFolder(path: string): Promise<string> {
  for (let place = path; ; place = dirname(place)) {
    const found = await stat(place).catch(() => undefined)
    if (found?.isDirectory() || dirname(place) === place) return place
  }
}

/** Real bytes, on the disk: a sparse file needs no room, and a cache takes what the disk does not. */
async function writeProbe(folder: string): Promise<void> {
  const file = join(folder, `.parley-probe-${randomBytes(6).toString('hex')}`)
  let handle: FileHandle | undefined
  try {
    handle = await open(file, 'wx', 0o600)
    await handle.write(randomBytes(machineLimits.probeBytes))
    await handle.datasync()
  } finally {
    await handle?.close().catch(() => undefined)
    if (handle) await rm(file, { force: true })
  }
}

async function probeFiles(folder: string): Promise<MachineFault | undefined> {
  const opened: FileHandle[] = []
  try {
    while (opened.length < machineLimits.probeFiles) opened.push(await open(await nearestFolder(folder), 'r'))
    return undefined
  } catch (cause) {
    return faultAt(cause, folder)
  } finally {
    for (const each of opened) await each.close().catch(() => undefined)
  }
}

/** git is there wherever a node works. */
function probeProcess(): Promise<MachineFault | undefined> {
  return new Promise(resolve => {
    try {
      execFile('git', ['version'], { timeout: machineTimes.program }, cause => resolve(machineFaultOf(cause)))
    } catch (cause) {
      resolve(machineFaultOf(cause))
    }
  })
}

function faultAt(cause: unknown, folder: string): MachineFault | undefined {
  const fault = machineFaultOf(cause)
  return fault && { ...fault, where: folder }
}
