// `parley modify`: yes to a gate, with changes.
import { command } from '../command.ts'
import { PASSPHRASE_FLAG } from '../confirm.ts'
import { Failure } from '../failure.ts'
import { because } from './approve.ts'
import { GATE_OR_RUN, meant, respond } from './respond.ts'
import { readTextFile } from './words.ts'

export const modify = command({
  name: 'modify',
  summary: 'Approve what waits for an answer, with changes',
  about:
    'What can change depends on the gate: of a task name, description, priority and resource_estimate; of a workspace budget, priority and visibility; of a message its payload; of a merge the strategy; of a conflict strategy and resolution. A value that is JSON is taken as such, any other as text.',
  args: [
    { ...GATE_OR_RUN, optional: false },
    { name: 'FIELD=VALUE', summary: 'What changes, as often as needed', optional: true, rest: true },
  ],
  flags: {
    file: {
      type: 'text',
      value: 'FILE',
      complete: 'file',
      summary: 'A JSON file with the fields that change',
    },
    reason: { type: 'text', value: 'TEXT', summary: 'Why; it is kept on the trail' },
    ...PASSPHRASE_FLAG,
  },
  examples: [
    ['parley modify gate_01m7fsz83wkkhydy description="Write it in English"', 'what the agent is told'],
    ['parley modify gate_01m7fsz83wkkhydy resolution=existing', 'keep what was merged before'],
    ['parley modify gate_01m7fsz83wkkhydy --file changes.json', 'from a file'],
  ],
  async run(context, { flags, words }) {
    const [named, ...fields] = words
    const changes = { ...fromFile(flags.file), ...Object.fromEntries(fields.map(fieldOf)) }
    if (Object.keys(changes).length === 0) {
      const { views } = await meant(await context.connect(), named, 'gate')
      const known = views[0]?.changes ?? []
      throw new Failure('usage', 'Nothing changes.', {
        why: `Of this gate these can change: ${known.join(', ')}.`,
        next: `parley modify ${named} ${known[0] ?? 'name'}="…", or parley approve ${named}`,
      })
    }
    return respond(context, named, { decision: 'modify', changes, ...because(flags.reason) })
  },
})

function fieldOf(word: string): [string, unknown] {
  const at = word.indexOf('=')
  if (at <= 0) {
    throw new Failure('usage', `'${word}' is no change.`, {
      why: 'A change is a field, an equals sign and a value.',
      next: 'parley modify GATE name="A better name"',
    })
  }
  return [word.slice(0, at), parsed(word.slice(at + 1))]
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function fromFile(file: string | undefined): object {
  if (file === undefined) return {}
  const value = parsed(readTextFile(file, 'Name a file with a JSON object.'))
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  throw new Failure('usage', `${file} holds no JSON object.`, {
    why: 'The fields that change are members of one object.',
    next: 'For example: { "name": "A better name" }',
  })
}
