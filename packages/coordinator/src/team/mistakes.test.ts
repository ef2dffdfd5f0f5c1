// One test for each kind of mistake: the mark shows where it must be found.
import { describe, expect, test } from 'vitest'
import { TEAM_PROBLEM_CODES } from './problem.ts'
import { marked, problemsIn } from './testing/teams.ts'

const head = 'version: 1\nname: team\n'
const agents = `${head}agents:\n  one: { preset: claude }\n  two: { command: [sh, work.sh] }\n`
const agent = (fields: string) => `${head}agents:\n  one: ${fields}\n`

/** What a row shows of its file, and the rest of it. */
const files: Readonly<Record<string, (shown: string) => string>> = {
  task: fields =>
    `${agents}plan:\n  - { id: a, agent: two, prompt: x }\n  - { id: b, agent: one, prompt: x, ${fields} }\n`,
  agent,
  solo: rest => agent('{ preset: qwen }') + rest,
  agents: rest => agents + rest,
  head: rest => head + rest,
  file: all => all,
}

/** What is wrong | the code | the path, - for all of it | words of the message | the file | what is shown of it. */
const mistakes = String.raw`
  text that is no YAML | yaml_syntax | - | Flow map | agents | limits: { attempts: 2▸
  a tab as indentation | yaml_syntax | - | Tabs | head | agents:\n▸\tone: x\n
  a second document | yaml_syntax | - | second document | agents | ▸---\na: 1\n
  a tag | yaml_syntax | - | no tags | head | description: ▸!secret x\nagents: { one: { preset: claude } }\n
  a key that is no word | yaml_syntax | - | plain word | agents | ▸[a]: 1\n
  an anchor that is not there | alias_unknown | name | '&x' | file | version: 1\nname: ▸*x\n
  an alias inside itself | alias_unknown | name[0] | inside | file | version: 1\nname: &x [▸*x]\n
  a key twice | duplicate_key | name | 'name' | head | ▸name: again\nagents:\n  one: { preset: claude }\n  two: { command: [sh, work.sh] }\nplan: [{ id: a, agent: one, prompt: x }]\n
  an agent that must be quick | bad_value | agents.one.timeout | 1ms | agent | { preset: qwen, timeout: ▸0s }
  an empty file | wrong_type | - | is empty | file | ▸
  a file that is a list | wrong_type | - | a list | file | ▸- version: 1\n
  a setup that is a text | wrong_type | setup | a list, such as [npm, ci] | solo | setup: ▸npm ci
  a setup without a program | bad_value | setup[0] | is empty | solo | setup: [▸'', ci]
  a mapped setup without a command | missing_key | setup.run | 'run' | solo | setup: ▸{ timeout: 5m }
  a setup in no time | bad_value | agents.one.setup.timeout | 1ms | agent | { preset: qwen, setup: { run: [npm, ci], timeout: ▸0s } }
  a variable for a setup that cannot be one | bad_name | setup.pass[0] | environment variable | solo | setup: { run: [npm, ci], pass: [▸A-B] }
  a carried file out of the project | bad_value | carry[0] | inside the project | solo | carry: [▸../x]
  a carried glob that is none | bad_value | agents.one.carry[0] | in braces | agent | { preset: qwen, carry: [▸'a{1..9}'] }
  a fallback from nowhere | unknown_agent | plan[1].fallback | Did you mean 'two'? | task | fallback: ▸tow
  a fallback to oneself | bad_value | plan[1].fallback[1] | already | task | fallback: [two, ▸one]
  a fallback that is no name | wrong_type | plan[1].fallback | text, or a list | task | fallback: ▸3
  no fallback in a list | bad_value | plan[1].fallback | is empty | task | fallback: ▸[]
  a second reviewer from nowhere | unknown_agent | plan[1].review.fallback[1] | Did you mean 'one'? | task | review: { by: two, fallback: [one, ▸onne] }
  a second reviewer who is the first | bad_value | plan[1].review.fallback | is the reviewer already | task | review: { by: two, fallback: ▸two }
  a salvage from nowhere | bad_value | plan[1].salvage | never or ask | task | salvage: ▸always
  a salvage that is a list | wrong_type | plan[1].salvage | never or ask, or a mapping | task | salvage: ▸[ask]
  a judge from nowhere | unknown_agent | plan[1].salvage.by | 'tow' | task | salvage: { by: ▸tow }
  a fallback for a team | bad_value | plan[0].fallback | no agent that could be replaced | agents | plan:\n  - { id: a, fallback: ▸one, plan: [{ id: b, agent: two, prompt: x }] }\n
  a preset from nowhere | bad_value | gates.preset | autonomous, supervised or gated | agents | gates: { preset: ▸strict }\nplan: [{ id: a, agent: one, prompt: x }, { id: b, agent: two, prompt: x }]\n
  a gate from nowhere | unknown_key | gates.integratoin | Did you mean 'integration'? | solo | gates: { ▸integratoin: { on: true } }\n
  a gate that is no mapping | wrong_type | gates.integration | a mapping | solo | gates: { integration: ▸off }\n
  a timeout of a gate without a unit | bad_value | gates.integration.timeout | or never | solo | gates: { integration: { timeout: ▸'10' } }\n
  a fallback that gates do not have | bad_value | gates.integration.fallback | escalate_to_coordinator | solo | gates: { integration: { fallback: ▸ask } }\n
  approval said twice | bad_value | gates.task_approval | Keep the one | solo | approval: none\ngates: { ▸task_approval: { on: true } }\n
  a budget of nothing | bad_value | plan[1].budget.tokens | from 1 | task | budget: { tokens: ▸0 }
  a working time of nothing | bad_value | plan[1].budget.working_time | nothing to work with | task | budget: { working_time: ▸0s }
  a size of nothing | bad_value | limits.budget.mail | nothing to work with | solo | limits: { budget: { mail: ▸0KiB } }\n
  an evaluated merge without an integrator | missing_key | plan[1].merge.by | add 'by' | task | merge: ▸{ strategy: evaluated }
  an integrator without an evaluated merge | bad_value | plan[1].merge.by | Only an evaluated merge | task | merge: { by: ▸one }
  an integrator from nowhere | unknown_agent | plan[1].merge.by | There is no agent 'three' | task | merge: { strategy: evaluated, by: ▸three }
  an integrator of the file from nowhere | unknown_agent | merge.by | There is no agent 'three' | task | priority: normal }\nmerge: { strategy: evaluated, by: ▸three
  an agent and a plan | bad_value | plan[1].plan | an agent and a plan | task | ▸plan: [{ id: c, agent: one, prompt: x }]
  neither an agent nor a plan | missing_key | plan[0].agent | 'agent' | solo | plan:\n  - ▸{ id: a, prompt: x }\n
  a task inside with the id of one outside | duplicate_id | plan[1].plan[0].id | the id 'a' | solo | plan:\n  - { id: a, agent: one, prompt: x }\n  - { id: b, plan: [{ id: ▸a, agent: one, prompt: x }] }\n
  a need across plans | unknown_task | plan[1].plan[0].needs[0] | the id 'a' | solo | plan:\n  - { id: a, agent: one, prompt: x }\n  - { id: b, plan: [{ id: c, agent: one, prompt: x, needs: [▸a] }] }\n
  a circle inside | cycle | plan[0].plan[1].needs[0] | wait for each other | solo | plan:\n  - { id: b, plan: [{ id: c, agent: one, prompt: x, needs: [d] }, { id: d, agent: one, prompt: x, needs: [▸c] }] }\n
  a key that the innermost plan does not have | unknown_key | plan[0].plan[0].plan[0].plans | is not a key | solo | plan:\n  - { id: a, plan: [{ id: b, plan: [{ id: c, prompt: x, agent: one, needs: [], ▸plans: [] }] }] }\n
  a misspelt key | unknown_key | plan[1].promt | Did you mean 'prompt'? | task | ▸promt: y
  a key from nowhere | unknown_key | plan[1].colour | The keys are id, title | task | ▸colour: red
  a misspelt key at the top | unknown_key | aproval | 'approval' | solo | ▸aproval: ask\n
  a misspelt key of an agent | unknown_key | agents.one.max-output | 'max_output' | agent | { preset: qwen, ▸max-output: 1MiB }
  a misspelt key of the limits | unknown_key | limits.atempts | 'attempts' | solo | limits: { ▸atempts: 2 }\n
  a misspelt key of a review | unknown_key | plan[1].review.bye | 'by' | task | review: { by: two, ▸bye: two }
  a merge key | unknown_key | plan[1]['<<'] | Merge keys | task | ▸<<: { attempts: 1 }
  no version | missing_key | version | 'version' | file | ▸name: team\nagents: { one: { preset: qwen } }\n
  no name | missing_key | name | 'name' | file | ▸version: 1\nagents: { one: { preset: qwen } }\n
  no agents key | missing_key | agents | 'agents' | file | ▸version: 1\nname: team\n
  a task without an agent | missing_key | plan[0].agent | 'agent' | agents | plan:\n  - ▸id: a\n    prompt: x\n
  a task without a prompt | missing_key | plan[0].prompt | 'prompt' | agents | plan:\n  - ▸{ id: a, agent: one }\n
  a task without an id | missing_key | plan[0].id | 'id' | agents | plan:\n  - ▸agent: one\n    prompt: x\n
  a review by nobody | missing_key | plan[1].review.by | 'by' | task | review: ▸{ prompt: ok? }
  an agent that cannot be started | missing_key | agents.one.command | 'preset' | head | agents:\n  ▸one: { slots: 2 }\n
  a number for a name | wrong_type | name | not 12 | file | version: 1\nname: ▸12\nagents: { one: { preset: qwen } }\n
  a number for a text | wrong_type | plan[1].title | Put it in quotes | task | title: ▸12
  a text for a number | wrong_type | limits.attempts | not 'two' | solo | limits: { attempts: ▸two }\n
  a fraction | wrong_type | agents.one.slots | a whole number from 1 to 64 | agent | { preset: qwen, slots: ▸1.5 }
  not a number | wrong_type | agents.one.slots | not NaN | agent | { preset: qwen, slots: ▸.nan }
  a command as one text | wrong_type | agents.one.command | such as [node, checks/tests.mjs] | agent | { command: ▸npm test }
  a check as one text | wrong_type | plan[1].check | such as [npm, test] | task | check: ▸npm test
  a number in a command | wrong_type | agents.one.command[1] | Item 2 of 'command' | agent | { command: [sleep, ▸[1]] }
  a list for a mapping | wrong_type | agents | a list | head | agents: ▸[one]\n
  an agent that is empty | wrong_type | agents.one | is empty | head | agents:\n  ▸one:\n  
  a plan that is empty | wrong_type | plan | is empty | agents | ▸plan:\n
  a mapping for a list | wrong_type | plan | a list | agents | plan:\n  ▸a: { agent: one, prompt: x }\n
  a duration without a unit | wrong_type | limits.timeout | such as 90s | solo | limits: { timeout: ▸10 }\n
  true for a word of a set | wrong_type | approval | ask or none | solo | approval: ▸true\n
  another version | bad_value | version | must be 1 | file | version: ▸2\nname: team\nagents: { one: { preset: qwen } }\n
  a word outside a set | bad_value | plan[1].priority | normal, elevated or urgent | task | priority: ▸high
  a misspelt preset | bad_value | agents.one.preset | Did you mean 'claude'? | agent | { preset: ▸cluade }
  a number out of range | bad_value | limits.concurrency | from 1 to 64 | solo | limits: { concurrency: ▸65 }\n
  no attempts | bad_value | plan[1].attempts | from 1 to 16 | task | attempts: ▸0
  a duration in words | bad_value | plan[1].timeout | a duration | task | timeout: ▸ten minutes
  a duration of nothing | bad_value | plan[1].timeout | between 1ms and 30d | task | timeout: ▸0s
  a duration of years | bad_value | plan[1].timeout | between 1ms and 30d | task | timeout: ▸9000h
  grace without an end | bad_value | plan[1].grace | the last part of a 'timeout' | task | grace: ▸2m
  grace in words | bad_value | plan[1].grace | a duration | task | timeout: 5m, grace: ▸some
  no grace at all | bad_value | plan[1].grace | no time to finish | task | timeout: 5m, grace: ▸0s
  nothing but grace | bad_value | limits.grace | must be shorter than the timeout, '5m' | solo | limits: { timeout: 5m, grace: ▸300s }\n
  an endless turn | bad_value | agents.one.timeout | between 1ms and 7d | agent | { preset: qwen, timeout: ▸721h }
  an endless run | bad_value | limits.timeout | between 1ms and 30d | solo | limits: { timeout: ▸721h }\n
  a size in words | bad_value | agents.one.max_output | a size | agent | { preset: qwen, max_output: ▸much }
  a size without end | bad_value | agents.one.max_output | between 1B and 1GiB | agent | { preset: qwen, max_output: ▸2GiB }
  an empty prompt | bad_value | plan[1].title | is empty | task | title: ▸''
  an empty plan | bad_value | plan | is empty | agents | plan: ▸[]\n
  an empty command | bad_value | agents.one.command | is empty | agent | { command: ▸[] }
  a command without a program | bad_value | agents.one.command | the program | agent | { command: ▸['', x] }
  a check without a program | bad_value | plan[1].check[0] | the program | task | check: [▸'']
  a path out of the project | bad_value | plan[1].paths[1] | inside the project | task | paths: [src/**, ▸src/../../x]
  an absolute path | bad_value | plan[1].paths[0] | relative | task | paths: [▸/etc/**]
  a path with backslashes | bad_value | plan[1].paths[0] | with '/' | task | paths: [▸'src\x']
  a path with a range | bad_value | plan[1].paths[1] | List what it stands for | task | paths: [src/**, ▸'{1..300000}']
  a path with a group | bad_value | plan[1].paths[0] | Use braces | task | paths: [▸'src/@(a|b)/**']
  a path with a named class | bad_value | plan[1].paths[0] | List the characters | task | paths: [▸'[[:alpha:]]*']
  a need twice | bad_value | plan[1].needs[1] | twice | task | needs: [a, ▸a]
  a NUL in a command | bad_value | agents.one.command[1] | NUL | agent | { command: [sh, ▸"\0"] }
  half a character | bad_value | description | half a character | solo | description: ▸"\ud800"\n
  a command and a preset | bad_value | agents.one.command | brings its own | agent | { preset: qwen, command: ▸[sh] }
  a model for a command | bad_value | agents.one.model | only a preset | agent | { command: [sh], model: ▸big }
  arguments beside a command | bad_value | agents.one.args | only a preset | agent | { command: [sh], args: ▸[x] }
  a prompt that goes nowhere | bad_value | agents.one.prompt | needs {prompt_file} | agent | { command: [sh], prompt: ▸file }
  a team name in capitals | bad_name | name | lower-case | file | version: 1\nname: ▸Team\nagents: { one: { preset: qwen } }\n
  a task id with a space | bad_name | plan[0].id | lower-case | agents | plan: [{ id: ▸a b, agent: one, prompt: x }, { id: c, agent: two, prompt: x }]\n
  an agent name with a dot | bad_name | agents['on.e'] | lower-case | head | agents:\n  ▸on.e: { preset: qwen }\n
  a variable with a hyphen | bad_name | agents.one.env.A-B | environment variable | agent | { preset: qwen, env: { ▸A-B: x } }
  a passed variable with a value | bad_name | agents.one.pass[0] | environment variable | agent | { preset: qwen, pass: [▸A=b] }
  an id twice | duplicate_id | plan[1].id | 'a' | agents | plan:\n  - { id: a, agent: one, prompt: x }\n  - { id: ▸a, agent: two, prompt: x }\n
  an agent that is not there | unknown_agent | plan[0].agent | Did you mean 'one'? | agents | plan:\n  - { id: a, agent: ▸oen, prompt: x }\n
  an agent that is like none | unknown_agent | plan[0].agent | The agents are one, two | agents | plan:\n  - { id: a, agent: ▸somebody, prompt: x }\n
  a reviewer that is not there | unknown_agent | plan[1].review.by | 'three' | task | review: { by: ▸three }
  a need that is not there | unknown_task | plan[1].needs[1] | 'tests' | task | needs: [a, ▸tests]
  a task that needs itself | cycle | plan[1].needs[0] | needs itself | task | needs: [▸b]
  tasks that wait for each other | cycle | plan[2].needs[0] | b → c → d → b | agents | plan:\n  - { id: a, agent: one, prompt: x }\n  - { id: b, agent: one, prompt: x, needs: [a, c] }\n  - { id: d, agent: two, prompt: x, needs: [▸b] }\n  - { id: c, agent: two, prompt: x, needs: [d] }\n
  no agent at all | no_agents | agents | at least one | head | agents: ▸{}\n
  nothing under agents | no_agents | agents | at least one | head | ▸agents:\n
  two agents and no plan | plan_missing | plan | There are 2 agents | head | ▸agents:\n  one: { preset: claude }\n  two: { command: [sh, work.sh] }\n
`
  .trim()
  .split('\n')
  .map(row => {
    const [what = '', code = '', path = '', says = '', file = '', shown = ''] = row.trim().split(' | ')
    const text = files[file]!(shown.replaceAll('\\n', '\n').replaceAll('\\t', '\t'))
    return [what, code, path === '-' ? '' : path, says, text] as const
  })

describe('a mistake is found where it is', () => {
  test.each(mistakes)('%s: %s', (_, code, path, says, text) => {
    const { text: file, line, column } = marked(text)
    const problems = problemsIn(file)
    expect(problems).toEqual([{ code, message: expect.stringContaining(says), line, column, path }])
    expect(problems[0]!.message).toMatch(/[.?]$/)
  })
})

test('every code is shown by a test here, or by the one for limits', () => {
  const shown = new Set<string>([...mistakes.map(([, code]) => code), 'too_large', 'too_deep', 'alias_limit'])
  expect([...TEAM_PROBLEM_CODES].filter(code => !shown.has(code))).toEqual([])
})

test('one reading finds all mistakes, in the order of the file', () => {
  const text = `version: 1
agents:
  one: { preset: claude, colour: red }
limits:
  atempts: 2
plan:
  - id: a
    agent: two
    prompt: 5
    needs: [b]
`
  const found = problemsIn(text).map(({ code, line, column }) => `${line}:${column} ${code}`)
  expect(found).toEqual([
    '1:1 missing_key',
    '3:26 unknown_key',
    '5:3 unknown_key',
    '8:12 unknown_agent',
    '9:13 wrong_type',
    '10:13 unknown_task',
  ])
})

test('a mistake in a repeated value is told once, where the value stands', () => {
  const text = `version: 1\nname: t\nagents:\n  a: &a { preset: claude, slots: 0 }\n  b: *a\n  c: *a\nplan: [{ id: x, agent: a, prompt: x }]\n`
  expect(problemsIn(text)).toMatchObject([{ code: 'bad_value', line: 4, column: 34, path: 'agents.a.slots' }])
})

test('a wrong word that an alias repeats is wrong where it is used', () => {
  const text = 'version: 1\nname: &n t\nagents: { a: { preset: qwen } }\nplan: [{ id: x, agent: *n, prompt: x }]\n'
  expect(problemsIn(text)).toMatchObject([{ code: 'unknown_agent', line: 4, column: 24 }])
})

test('what stands in a file cannot steer the terminal of its reader', () => {
  const text = `version: 1\nname: "a\\e[2J\\u202e"\nagents: { a: { preset: qwen } }\n"\\e[31mx": 1\n`
  const shown = JSON.stringify(problemsIn(text))
  expect(shown).toContain('\ufffd[2J\ufffd')
  expect(shown).not.toMatch(/\\u001b|\u202e/)
})
