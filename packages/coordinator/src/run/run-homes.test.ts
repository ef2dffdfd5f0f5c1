// What a stop in the middle of a run's beginning leaves in the user's repository is gone after the next start.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { SystemClock, unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { RunFolders } from '../folder/run-folders.ts'
import { gitProject, RUN, temporaryFolder, userGit } from '../folder/testing/project.ts'
import { RunProjection } from '../projection/run-projection.ts'
import { RunHomes } from './run-homes.ts'

const refs = (project: string) => userGit(project, 'for-each-ref', 'refs/parley')

test('a run whose beginning was cut off leaves no refs in the project once it is cleaned up', async () => {
  const project = gitProject()
  const profile = temporaryFolder()
  const homes = new RunHomes(profile, new SystemClock())
  const home = join(profile, 'runs', RUN)
  mkdirSync(home, { recursive: true })
  // As a process that was killed behind `RunFolders.create` leaves it.
  writeFileSync(join(home, 'open'), JSON.stringify({ project }))
  unwrap(await RunFolders.create({ project, home, run: RUN }))
  expect(refs(project)).toContain(RUN)
  expect(homes.unsettled).toEqual([RUN])
  await homes.clean(RUN, new RunProjection())
  expect(refs(project)).toBe('')
})

test('a beginning that the disk does not let come to its end leaves nothing', async () => {
  const project = gitProject()
  const profile = temporaryFolder()
  const homes = new RunHomes(profile, new SystemClock())
  // The facts cannot take their place: there is a folder where their file would be written.
  const home = join(profile, 'runs', RUN)
  const create = RunFolders.create
  RunFolders.create = async options => {
    const folders = await create.call(RunFolders, options)
    mkdirSync(join(home, 'open.new'))
    return folders
  }
  try {
    await expect(homes.create(RUN, project)).rejects.toMatchObject({ code: 'EISDIR' })
  } finally {
    RunFolders.create = create
  }
  expect(refs(project)).toBe('')
  expect(existsSync(home)).toBe(false)
})
