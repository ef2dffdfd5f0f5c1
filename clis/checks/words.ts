// What agents and peers wrote reaches the model as it stands. No program takes a part of it for something to do by
// itself: to run a command of its own, or to put in a file.
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
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
  const plain = said.includes('each @ is written \\@') ? said.replaceAll('\\@', '@') : said
  const seen = plain.includes('is written $\\') ? plain.replaceAll('$\\', '$') : plain
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
    const { folder, home } = scene.world
    writeFileSync(join(folder, 'canary.txt'), CANARY)
    const skill = join(home, '.codex', 'skills', 'of-mine', 'SKILL.md')
    mkdirSync(dirname(skill), { recursive: true })
    writeFileSync(skill, `---\nname: of-mine\ndescription: A skill of the user.\n---\n${CANARY}\n`)
    const mentions = `$of-mine, ($of-mine) and [$of-mine](${skill}), [$of-mine](skill://${skill}), [of-mine](skill://${skill}), $skill-creator, \`$HOME\``
    await harmless(scene, `!cat ${folder}/canary.txt\n# remember this\n${mentions}`)
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
