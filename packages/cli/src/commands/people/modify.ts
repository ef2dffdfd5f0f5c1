// `parley modify`: approves a gate with changes.
import { command } from '../../command.ts'
import { Failure } from '../../failure.ts'
import { readTextFile } from '../words.ts'
import { GATE_OR_RUN, meant, RESPOND_FLAGS, respond } from './respond.ts'

export default command({
  about:
    'What can change depends on the gate, and without a change the command says what and how. Task: name, description, priority and resource_estimate. Start of an agent: budget, priority and visibility. Message: payload. Merge: strategy. Conflict: strategy and resolution. End of work: reason. A value may be JSON as well.',
  args: [
    { ...GATE_OR_RUN, optional: false },
    { name: 'FIELD=VALUE', summary: 'A field to change; may be repeated', optional: true, rest: true },
  ],
  flags: {
    file: { value: 'FILE', complete: 'file', summary: 'A JSON file with the fields to change' },
    ...RESPOND_FLAGS,
  },
  examples: [
    ['parley modify gate_kkhydy description="Write it in English"', 'what the agent is told'],
    ['parley modify gate_kkhydy budget=cost:5,tokens:200000', 'what the agent may use; budget=5 is 5 US dollars'],
    ['parley modify gate_kkhydy resolution=existing', 'keep what was merged before'],
    ['parley modify gate_kkhydy --file changes.json', 'from a file'],
  ],
  async run(context, { flags, words }) {
    const [named, ...fields] = words
    const changes = { ...fromFile(flags.file), ...Object.fromEntries(fields.map(fieldOf)) }
    if (Object.keys(changes).length === 0) {
      const [{ changes: known, change_forms: forms }] = await meant(context, named, 'gate')
      throw new Failure('usage', 'There is nothing to change.', {
        why: `These fields of the gate can change: ${forms?.join('; ') ?? known.join(', ')}.`,
        next: `parley modify ${named} ${known[0] ?? 'name'}="…", or parley approve ${named}`,
      })
    }
    return respond(context, named, { decision: 'modify', changes }, flags.reason)
  },
})

function fieldOf(word: string): [string, unknown] {
  const at = word.indexOf('=')
  if (at <= 0) {
    throw new Failure('usage', `'${word}' is not a change.`, {
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
  throw new Failure('usage', `${file} does not hold a JSON object.`, {
    why: 'The fields that change are members of one object.',
    next: 'For example: { "name": "A better name" }',
  })
}
