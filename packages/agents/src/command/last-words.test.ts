// Outputs of real programs, shortened.
import { expect, test } from 'vitest'
import { lastWordsOf } from './last-words.ts'

const node = `/tmp/a.js:1
throw new Error("boom")
^

Error: boom
    at Object.<anonymous> (/tmp/a.js:1:7)
    at node:internal/main/run_main_module:28:49

Node.js v20.20.2
`
const assertion = `node:assert:90
  throw new AssertionError(obj);
  ^

AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:

1 !== 2

    at [eval]:1:19
    at node:internal/main/eval_string:51:3 {
  generatedMessage: true,
  code: 'ERR_ASSERTION'
}

Node.js v20.20.2
`
const refused = `node:events:502
      throw er; // Unhandled 'error' event
      ^

Error: connect ECONNREFUSED 127.0.0.1:1
    at TCPConnectWrap.afterConnect [as oncomplete] (node:net:1611:16)
Emitted 'error' event on Socket instance at:
    at emitErrorNT (node:internal/streams/destroy:169:8) {
  errno: -111,
  code: 'ECONNREFUSED'
}

Node.js v20.20.2
`
const python = `Traceback (most recent call last):
  File "<string>", line 2, in <module>
    return _default_decoder.decode(s)
           ^^^^^^^^^^^^^^^^^^^^^^^^^^
json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)
`
const npm = `npm warn Unknown user config "nodedir".
npm error Missing script: "foo"
npm error
npm error To see a list of scripts, run:
npm error   npm run
npm error A complete log of this run can be found in: /x/.npm/_logs/2026-debug-0.log
`
const npmFile = `npm error code ENOENT
npm error syscall open
npm error path /tmp/r/package.json
npm error errno -2
npm error enoent Could not read package.json: Error: ENOENT: no such file or directory, open '/tmp/r/package.json'
npm error enoent This is related to npm not being able to find a file.
npm error enoent
npm error A complete log of this run can be found in: /x/.npm/_logs/2026-debug-0.log
`
const cargo = `   Compiling foo v0.1.0 (/tmp/c)
error[E0425]: cannot find value \`x\` in this scope
 --> src/main.rs:1:27
  |
1 | fn main(){ println!("{}", x); }
  |                           ^ not found in this scope

For more information about this error, try \`rustc --explain E0425\`.
error: could not compile \`foo\` (bin "foo") due to 1 previous error
`
const rust = `
thread 'main' (24053) panicked at p.rs:1:12:
boom
stack backtrace:
   0: std::panicking::begin_panic::<&str>
             at /rustc/library/std/src/panicking.rs:761:5
note: Some details are omitted, run with \`RUST_BACKTRACE=full\` for a verbose backtrace.
`
const java = `Exception in thread "main" java.lang.RuntimeException: boom
\tat R.main(R.java:1)
`

test.each([
  ['node', node, 'Error: boom'],
  ['an assertion', assertion, 'AssertionError [ERR_ASSERTION]: Expected values to be strictly equal: 1 !== 2'],
  ['an error event', refused, 'Error: connect ECONNREFUSED 127.0.0.1:1'],
  ['python', python, 'json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)'],
  ['bash', 'bash: line 1: foo: command not found\n', 'bash: line 1: foo: command not found'],
  ['npm', npm, 'Missing script: "foo"'],
  [
    'npm without a package',
    npmFile,
    "Could not read package.json: Error: ENOENT: no such file or directory, open '/tmp/r/package.json'",
  ],
  ['cargo', cargo, 'error[E0425]: cannot find value `x` in this scope'],
  ['a panic', rust, 'boom'],
  ['java', java, 'Exception in thread "main" java.lang.RuntimeException: boom'],
  [
    'make',
    "make: *** No rule to make target 'nothing'.  Stop.\n",
    "make: *** No rule to make target 'nothing'.  Stop.",
  ],
  ['frames alone', '    at x\n    at y\n\n', 'at y'],
  ['nothing', ' \n', ''],
])('the line of %s that says what happened is found', (_, stderr, words) => {
  expect(lastWordsOf(stderr)).toBe(words)
})
