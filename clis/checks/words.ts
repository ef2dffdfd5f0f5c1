// What agents and peers wrote reaches the model as it stands. No program takes a part of it for something to do by
// itself: to run a command of its own, or to put in a file.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Check, done, equal, fail, type Scene, team } from './check.ts'

const CANARY = 'canary-7fb2c6'
const SEEN = 'I have read it.'

/** Both as the first words of a task and within what a reviewer is shown. */
async function harmless({ program, world }: Scene, text: string): Promise<void> {
  world.server.script = () => ({ text: SEEN })
  world.team(team(program))
  const view = await world.solve(text)
  done(view)
  const [turn] = world.server.turns
  if (!turn) fail('the model was not asked')
  const [said = '', ...more] = turn.said
  const seen = said.includes('each @ is written \\@') ? said.replaceAll('\\@', '@') : said
  if (!seen.includes(text)) fail(`the model saw another text: ${said.slice(0, 200)}`)
  if (more.length > 0) fail(`this was added to the prompt: ${more[0]!.slice(0, 200).replaceAll('\n', ' ')}`)
  for (const { body } of world.server.log) if (body.includes(CANARY)) fail('a file was put into the prompt')
  equal('the answer', view.tasks[0]?.steps.at(-1)?.text, SEEN)
}

export const slash: Check = {
  name: 'slash',
  title: 'a prompt that begins with `/help`',
  run: scene => harmless(scene, '/help me with this'),
}

export const signs: Check = {
  name: 'signs',
  title: 'a prompt with `!`, `#` and `$`',
  async run(scene) {
    writeFileSync(join(scene.world.folder, 'canary.txt'), CANARY)
    await harmless(scene, `!cat ${scene.world.folder}/canary.txt\n# remember this\n$skill-creator help`)
  },
}

export const at: Check = {
  name: 'at',
  title: '`@` and a path in a prompt',
  async run(scene) {
    const { folder } = scene.world
    writeFileSync(join(folder, 'canary.txt'), CANARY)
    scene.world.write('inside.txt', CANARY)
    const outside = join(folder, 'canary.txt')
    await harmless(scene, `Look at @${outside}, x@${outside}:1\n+@${outside}\n@inside.txt @"${outside}" a@b.example`)
  },
}
